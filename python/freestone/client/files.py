"""Files of the user's, named by their content.

See docs/decisions/012-folders-are-dicts-of-files.md
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Any

from freestone import _native
from freestone.errors import (
    FileChangedError,
    FileError,
    FileMissingError,
    FileUnreadableError,
)
from freestone.errors.keywords import suggest_keywords

__all__ = ["File", "Scratch", "Stamp", "file", "stamp_of"]

Stamp = tuple[int, int, int]


@suggest_keywords
class File(os.PathLike[str]):
    """A file as a block: what stands for its content in the arguments of calls.

    On a worker, and without a cluster, it is a path: `open(f)`, `uproot.open(f)`. A task that
    returns a `File` (made by `freestone.file`) makes its content a block.

    Attributes
    ----------
    path : str
        Where the content lies on this machine, or its URL.
    name : str
        32 hex digits over the content; over URL, size and time of change for a remote file.
    nbytes : int
        Its size in bytes.
    checksum : int
        Of the content, for workers that copy it; 0 for a remote file.
    stamp : tuple or None
        What shows a change of the file: inode, size and times; None where it is a block.
    """

    __slots__ = ("_hold", "checksum", "name", "nbytes", "path", "stamp")

    def __init__(
        self,
        path: str,
        name: str,
        nbytes: int,
        checksum: int = 0,
        hold: object = None,
        stamp: Stamp | None = None,
    ) -> None:
        self.path: str = path
        self.name: str = name
        self.nbytes: int = nbytes
        self.checksum: int = checksum
        # What the file looked like when it was named.
        self.stamp: Stamp | None = stamp
        # What keeps the content in place while this object lives.
        self._hold = hold

    @property
    def basename(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1].split("?", 1)[0] or "file"

    @property
    def is_remote(self) -> bool:
        """Whether `path` is a URL."""
        return "://" in self.path

    def __fspath__(self) -> str:
        if not self.is_remote:
            return self.path
        if self._hold is None:
            self._hold = fetch(self)
        return os.fspath(self._hold)  # type: ignore[call-overload, no-any-return]

    @property
    def name_here(self) -> str:
        """What tells it from other files of its content: a name of 32 hex digits."""
        about = repr((self.name, self.path, self.stamp)).encode()
        return hashlib.blake2b(about, digest_size=16).hexdigest()

    @property
    def is_intact(self) -> bool:
        """Whether it is what was named, as far as its size and time of change tell."""
        try:
            self.check()
        except FileError:
            return False
        return True

    def check(self) -> None:
        """Raise `FileChangedError` or `FileMissingError` if it is not what was named."""
        if self.stamp is None:
            return
        stamp = stamp_of(self.path)
        if stamp != self.stamp:
            raise FileChangedError(self.path, "its size or time of change differs")

    def open(self, mode: str = "rb") -> Any:
        """Open it for reading."""
        return open(self, mode)

    def read_bytes(self) -> bytes:
        """Return its content."""
        return Path(self).read_bytes()

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return its content as text."""
        return Path(self).read_text(encoding)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<freestone.File {self.path} {self.name[:8]} {self.nbytes} bytes>"

    def __reduce__(self) -> Any:
        owner = _native.executor.encoding_owner()
        if owner is not None:
            # Inside a call's arguments its content stands for it.
            return owner().put_file(self).__reduce__()
        return File, (self.path, self.name, self.nbytes, self.checksum, None, self.stamp)


_named: dict[tuple[str, Stamp, int], tuple[str, int]] = {}


def stamp_of(path: str) -> Stamp:
    """Return inode, size and time of change of a file, or say clearly why it can't be read."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FileMissingError(path) from None
    except PermissionError:
        raise FileUnreadableError(path) from None
    return found.st_ino, found.st_size, found.st_mtime_ns


def file(path: str | os.PathLike[str]) -> File:
    """Name a file by its content.

    Parameters
    ----------
    path
        A local path, or a URL that fsspec understands (``https://``, ``s3://``, ...).

    Returns
    -------
    File
        To be passed to calls.

    Raises
    ------
    FileMissingError, FileUnreadableError, FileError
        When there is no such file, or it can't be read, or is a folder, a device or a pipe.

    Notes
    -----
    Reads the file once, at several GB/s; a file that did not change since (inode, size and times)
    is not read again. A remote file is not read here, only asked about.
    """
    text = os.fspath(path)
    if "://" in text:
        return _remote(text)
    text = os.path.abspath(os.path.expanduser(text))
    _require_utf8(text)
    stamp = stamp_of(text)
    _require_regular(text)
    # The time of change of the file's inode, too: a copy may set that of its content back.
    key = (text, stamp, os.stat(text).st_ctime_ns)
    if key not in _named:
        try:
            _named[key] = _native.blocks.name_file(text)
        except PermissionError:
            raise FileUnreadableError(text) from None
    name, checksum = _named[key]
    return File(text, name, stamp[1], checksum, stamp=stamp)


def _require_utf8(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise FileError(shown, "has a name that is no UTF-8; rename it, or make a link") from None


def _require_regular(path: str) -> None:
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise FileError(
            path, "is a folder; give its files one by one, in a dict or a list, or pack it"
        )
    if not stat.S_ISREG(mode):
        raise FileError(
            path, "is a device, a pipe or a socket, whose content is no block; give a regular file"
        )


# What file systems say of a file's version, each in its own word.
_VERSIONS = ("ETag", "etag", "Last-Modified", "LastModified", "mtime", "created")


def _remote(url: str) -> File:
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        hint = "is remote: install what reads it (pip install 'freestone[remote]')"
        raise FileError(url, hint) from error
    try:
        info = system.info(path)
    except FileNotFoundError as error:
        # What fsspec makes of a server that does not answer, too.
        if isinstance(error.__cause__, OSError):
            problem = f"can't be reached: {error.__cause__}; see whether its server runs"
            raise FileError(url, problem) from error
        raise FileMissingError(url, "does not exist; check the URL") from None
    versions = [info.get(key) for key in _VERSIONS]
    size = int(info.get("size") or 0)
    name = hashlib.blake2b(repr((url, size, versions)).encode(), digest_size=16).hexdigest()
    return File(url, name, size)


def remove_of_this_process(folder: str, owner: int) -> None:
    """Remove a folder that a process made, unless this is a forked child of it that ends."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class Scratch:
    """A temporary folder that goes with this object."""

    def __init__(self) -> None:
        self.path: str = tempfile.mkdtemp(prefix="freestone-")
        weakref.finalize(self, remove_of_this_process, self.path, os.getpid())


def fetch(remote: File) -> File:
    """Copy a remote file to this machine; the file there.

    The copy lies in a temporary folder that goes with the returned object.
    """
    import fsspec

    folder = Scratch()
    target = os.path.join(folder.path, remote.basename)
    with fsspec.open(remote.path, "rb") as source, open(target, "wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    return File(target, remote.name, os.path.getsize(target), hold=folder)


def fetch_block(url: str, name: str) -> File:
    """Fetch a remote file to the worker where this runs."""
    return fetch(File(url, name, 0))
