"""Files that take the place of others once they are whole."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from freestone.errors import FileError

if TYPE_CHECKING:
    # Which takes 4 ms to load, and workers only read.
    from pathlib import Path

__all__ = ["kind", "replaceable", "replaced"]

_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}


def kind(mode: int) -> str:
    """Return what something is that is no regular file, by its mode."""
    return _KINDS.get(stat.S_IFMT(mode), "device")


def replaceable(path: str | os.PathLike[str]) -> str:
    """Return the path of the file that a new one may replace, or that is not there yet.

    Parameters
    ----------
    path : path
        Links are followed, so that what they lead to is replaced, and not the link.

    Raises
    ------
    IsADirectoryError
        If a folder is there.
    FileError
        If a device, a pipe or a socket is there, which a file would end.
    """
    try:
        # A link to an open pipe leads to no path, so what counts is what is found by the link.
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return os.path.realpath(path)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise FileError(os.fspath(path), f"is a {kind(mode)}, and no file can take its place")
    return os.path.realpath(path)


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` when all went well.

    Raises
    ------
    IsADirectoryError, FileError
        As `replaceable`.
    """
    from pathlib import Path

    target = Path(replaceable(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
