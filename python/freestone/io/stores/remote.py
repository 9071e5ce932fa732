"""Object stores, http and whatever else fsspec knows."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from freestone import _native
from freestone.errors import FileError, FreestoneError, UsageError
from freestone.io.stores.location import FileLocation

__all__ = ["RemoteLocation"]

# Ranges of a file that are asked for at once: each waits for the store most of its time.
AT_ONCE = 8
# What a server gives as a whole, whatever it was asked for, is kept up to so many bytes.
MAX_WHOLE = 256 << 20
# What file systems say of a file's version, each in its own word.
VERSIONS = ("ETag", "etag", "Last-Modified", "LastModified", "mtime", "created")


@functools.lru_cache(maxsize=16)
def system(url: str, process: int) -> tuple[Any, str]:
    """Return this process's file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise UsageError(f"{url} needs fsspec; pip install 'freestone[remote]'") from error
    try:
        found, path = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise UsageError(f"nothing here reads {url} ({error})") from error
    return found, str(path)


@dataclass(frozen=True)
class RemoteLocation(FileLocation):
    """A file that fsspec reads and writes; objects are replaced whole."""

    is_listed = True

    @property
    def name(self) -> str:
        """The last part of its path, without a query."""
        return self.url.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1]

    @property
    def _system(self) -> tuple[Any, str]:
        return system(self.url, os.getpid())

    @property
    def is_shared(self) -> bool:
        """Whether other processes reach it: any but fsspec's file system in memory."""
        protocols = self._system[0].protocol
        return "memory" not in ((protocols,) if isinstance(protocols, str) else protocols)

    def beside(self, suffix: str) -> RemoteLocation:
        """Return the file whose name has something added."""
        return RemoteLocation(self.url + suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        files, path = self._system
        return bool(files.exists(path))

    def stamp(self) -> tuple[Any, ...]:
        """Return its size, and what the store says of its version."""
        files, path = self._system
        with self._reported("read"):
            files.invalidate_cache()
            info = files.info(path)
        if info.get("type") == "directory":
            raise IsADirectoryError(self.url)
        if info.get("size") is None:
            raise UsageError(f"{self.url} does not say its size; copy it to this machine first")
        return int(info["size"]), *(str(info.get(key)) for key in VERSIONS)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return an object that reads at an offset."""
        return source(self, stamp or self.stamp(), os.getpid())

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        files, path = self._system
        with self._reported("read"):
            return bytes(files.cat_file(path))

    def write_bytes(self, data: bytes) -> None:
        """Write a small file, all of it or nothing."""
        files, path = self._system
        with self._reported("written"):
            files.pipe_file(path, data)

    def upload(self, path: str) -> None:
        """Write the file from one of this machine; a store of objects shows it when it is whole."""
        from fsspec.callbacks import Callback

        class Counted(Callback):  # type: ignore[misc]
            """Counts what is sent, for bars."""

            def relative_update(self, inc: int = 1) -> None:
                _native.io.io_count(written=inc)

        files, target = self._system
        with self._reported("written"):
            files.put_file(path, target, callback=Counted())

    @contextlib.contextmanager
    def _reported(self, done: str) -> Iterator[None]:
        """Give the errors of stores, each of which has its own, freestone's kind.

        `done` is what can't be done: ``read`` or ``written``.
        """
        try:
            yield
        except (PermissionError, IsADirectoryError, FreestoneError):
            raise
        except Exception as error:
            # Of a web server that refuses or can't be reached, fsspec says that a file is missing.
            cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
            status = getattr(cause, "status", None)
            if status in (401, 403):
                raise PermissionError(self.url) from error
            is_missing = isinstance(error, FileNotFoundError) and not isinstance(cause, OSError)
            if is_missing and status in (None, 404):
                raise
            reason = f"can't be {done}: {cause or 'no reason given'} ({type(cause).__name__})"
            raise FileError(self.url, reason) from error

    def is_folder(self) -> bool:
        """Tell whether this is a folder; a web server has pages, which may lead anywhere."""
        if self.url.startswith(("http://", "https://")):
            return False
        files, path = self._system
        with self._reported("read"):
            files.invalidate_cache()
            return bool(files.isdir(path))

    def below(self) -> list[str]:
        """Return the URLs of all files below this folder."""
        files, path = self._system
        with self._reported("listed"):
            files.invalidate_cache()
            return [self._url_of(files, found) for found in files.find(path)]

    def matching(self) -> list[str]:
        """Return the URLs of all files that match this pattern."""
        files, path = self._system
        with self._reported("listed"):
            files.invalidate_cache()
            found = files.glob(path, detail=True)
        return [self._url_of(files, one) for one, info in found.items() if info["type"] == "file"]

    def _url_of(self, files: Any, path: str) -> str:
        """Return the URL of a file as its file system calls it, in the scheme of this one."""
        if "://" in path:
            return path
        return f"{self.url.partition('://')[0]}://{path.lstrip('/')}"

    def remove(self) -> None:
        """Remove the file if it is there."""
        files, path = self._system
        if files.exists(path):
            files.rm_file(path)


@functools.lru_cache(maxsize=1)
def source(location: RemoteLocation, stamp: tuple[Any, ...], process: int) -> Source:
    """Return this process's reader of a version of a file."""
    return Source(location, int(stamp[0]))


class Source:
    """Reads a file at an offset.

    A web server may answer with the whole file, whatever range it was asked for; then it is kept,
    if it is not too large, and not asked for again.
    """

    at_once = AT_ONCE

    def __init__(self, location: RemoteLocation, nbytes: int) -> None:
        self._place, self.nbytes = location, nbytes
        self._content: bytes | None = None
        # Held until it is known whether the server gives ranges.
        self._first, self._is_known = threading.Lock(), False

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes from an offset on; none at the end."""
        stop = min(offset + nbytes, self.nbytes)
        if stop <= offset:
            return b""
        if self._is_known:
            return self._range(offset, stop)
        with self._first:
            found = self._range(offset, stop)
            self._is_known = stop - offset < self.nbytes
        return found

    def _range(self, offset: int, stop: int) -> bytes:
        if self._content is None:
            found = self._asked(offset, stop)
            if len(found) <= stop - offset:
                return found
            self._content = found
        return self._content[offset:stop]

    def _asked(self, offset: int, stop: int) -> bytes:
        """Ask for a range; the whole file may come."""
        files, path = self._place._system
        with self._place._reported("read"):
            found = bytes(files.cat_file(path, start=offset, end=stop))
        _native.io.io_count(read=len(found))
        url = self._place.url
        if len(found) > stop - offset and len(found) != self.nbytes:
            reason = f"{stop - offset:,} bytes were asked for, and {len(found):,} came"
            raise FileError(url, f"can't be read: {reason}")
        if len(found) > max(stop - offset, MAX_WHOLE):
            reason = "its server gives it as a whole only; copy it to this machine first"
            raise FileError(url, f"can't be read in parts: {reason}")
        return found
