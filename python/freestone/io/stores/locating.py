"""Which store a path or URL belongs to."""

from __future__ import annotations

import os
from urllib.parse import unquote

from freestone import plugins
from freestone.io.stores.place import Place

__all__ = ["GROUP", "locate"]

GROUP = "freestone.stores"
"""The entry points by which other packages offer stores, by the scheme of their URLs."""


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
        return _elsewhere(scheme, text)
    # Workers may be in another folder.
    text = os.path.abspath(text)
    from freestone.io.stores.lustre import LustrePlace, is_lustre
    from freestone.io.stores.posix import PosixPlace

    return LustrePlace(text) if is_lustre(text) else PosixPlace(text)


def _elsewhere(scheme: str, url: str) -> Place:
    """Return a file in the store of another package, or else in one that fsspec knows."""
    make = plugins.load(GROUP, scheme, object)
    if make is None:
        from freestone.io.stores.remote import RemotePlace

        return RemotePlace(url)
    if not callable(make):
        raise plugins.wrong(GROUP, scheme, "can't be called; it has to be a function of a URL")
    place = make(url)
    if not isinstance(place, Place):
        reason = f"returns what is of type {type(place).__name__}; it has to return a Place"
        raise plugins.wrong(GROUP, scheme, reason)
    return place
