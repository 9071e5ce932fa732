"""Which store a path or URL belongs to."""

from __future__ import annotations

import os
from urllib.parse import unquote

from freestone.io.stores.place import Place

__all__ = ["locate"]


def locate(url: str | os.PathLike[str]) -> Place:
    """Return the file that a path or URL names."""
    text = os.fspath(url)
    scheme, sign, rest = text.partition("://")
    if sign and scheme == "file":
        text = unquote(rest.removeprefix("localhost"))
    elif sign and scheme == "hdfs":
        from freestone.io.stores.hdfs import HdfsPlace

        return HdfsPlace.of(text)
    elif sign:
        from freestone.io.stores.remote import RemotePlace

        return RemotePlace(text)
    # Workers may be in another folder.
    text = os.path.abspath(text)
    from freestone.io.stores.lustre import LustrePlace, is_lustre
    from freestone.io.stores.posix import PosixPlace

    return LustrePlace(text) if is_lustre(text) else PosixPlace(text)
