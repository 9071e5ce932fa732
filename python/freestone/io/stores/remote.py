"""Object stores, http and whatever else fsspec knows."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from freestone import _native
from freestone.errors import FileError, FreestoneError, UsageError
from freestone.io.stores.place import Place

__all__ = ["RemotePlace"]

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
class RemotePlace(Place):
    """A file that fsspec reads and writes; objects are replaced whole."""

    @property
    def name(self) -> str:
        """The last part of its path, without a query."""
        return self.url.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1]

    @property
    def _system(self) -> tuple[Any, str]:
        return system(self.url, os.getpid())

    def beside(self, suffix: str) -> RemotePlace:
        """Return the file whose name has something added."""
        return RemotePlace(self.url + suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        files, path = self._system
        return bool(files.exists(path))

    def stamp(self) -> tuple[Any, ...]:
        """Return its size, and what the store says of its version."""
        files, path = self._system
        files.invalidate_cache()
        info = files.info(path)
        if info.get("type") == "directory":
            raise IsADirectoryError(self.url)
        if info.get("size") is None:
            raise UsageError(f"{self.url} does not say its size; copy it to this machine first")
        return int(info["size"]), *(str(info.get(key)) for key in VERSIONS)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return an object that reads at an offset."""
        return Source(self, stamp or self.stamp())

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        files, path = self._system
        return bytes(files.cat_file(path))

    def write_bytes(self, data: bytes) -> None:
        """Write a small file, all of it or nothing."""
        files, path = self._system
        with self._written():
            files.pipe_file(path, data)

    def upload(self, path: str) -> None:
        """Write the file from one of this machine; a store of objects shows it when it is whole."""
        from fsspec.callbacks import Callback

        class Counted(Callback):  # type: ignore[misc]
            """Counts what is sent, for bars."""

            def relative_update(self, inc: int = 1) -> None:
                _native.io_count(written=inc)

        files, target = self._system
        with self._written():
            files.put_file(path, target, callback=Counted())

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """Give the errors of stores, each of which has its own, freestone's kind."""
        try:
            yield
        except (OSError, FreestoneError):
            raise
        except Exception as error:
            reason = f"can't be written: {error} ({type(error).__name__})"
            raise FileError(self.url, reason) from error

    def remove(self) -> None:
        """Remove the file if it is there."""
        files, path = self._system
        if files.exists(path):
            files.rm_file(path)


class Source:
    """Reads a file at an offset."""

    def __init__(self, place: RemotePlace, stamp: tuple[Any, ...]) -> None:
        self._files, self._path = place._system
        self.nbytes = int(stamp[0])

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes from an offset on; none at the end."""
        stop = min(offset + nbytes, self.nbytes)
        return (
            bytes(self._files.cat_file(self._path, start=offset, end=stop))
            if stop > offset
            else b""
        )
