"""Which store a path or URL belongs to."""

from __future__ import annotations

import os
from urllib.parse import unquote

from freestone import plugins
from freestone.io.stores.location import FileLocation

__all__ = ["GROUP", "expanded", "locate"]

GROUP = "freestone.stores"
"""The entry points by which other packages offer stores, by the scheme of their URLs."""


def locate(url: str | os.PathLike[str]) -> FileLocation:
    """Return the file that a path or URL names."""
    text = expanded(url)
    scheme, sign, rest = text.partition("://")
    if sign and scheme == "file":
        text = unquote(rest.removeprefix("localhost"))
    elif sign and scheme == "hdfs":
        from freestone.io.stores.hdfs import HdfsLocation

        return HdfsLocation.of(text)
    elif sign:
        return _elsewhere(scheme, text)
    # Workers may be in another folder.
    text = os.path.abspath(text)
    from freestone.io.stores.lustre import LustreLocation, is_lustre
    from freestone.io.stores.posix import PosixLocation

    return LustreLocation(text) if is_lustre(text) else PosixLocation(text)


def expanded(path: str | os.PathLike[str]) -> str:
    """Return a path or URL as text, with the user's folder for a ``~`` at its beginning."""
    return os.path.expanduser(os.fspath(path))


def _elsewhere(scheme: str, url: str) -> FileLocation:
    """Return a file in the store of another package, or else in one that fsspec knows."""
    make = plugins.load(GROUP, scheme, object)
    if make is None:
        from freestone.io.stores.remote import RemoteLocation

        return RemoteLocation(url)
    if not callable(make):
        raise plugins.wrong(GROUP, scheme, "can't be called; it has to be a function of a URL")
    location = make(url)
    if not isinstance(location, FileLocation):
        reason = (
            f"returns what is of type {type(location).__name__}; it has to return a FileLocation"
        )
        raise plugins.wrong(GROUP, scheme, reason)
    return location
