"""Files that are only their content: nothing is written to a disk to be read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from freestone.io.stores import FileLocation
from freestone.io.stores.posix import PosixLocation

__all__ = ["Bytes", "in_memory"]


class Source:
    """Reads bytes at an offset."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.nbytes = len(content)

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes."""
        return self._content[offset : offset + nbytes]


@dataclass(frozen=True)
class Bytes(FileLocation):
    """A file of a store that is not mounted, read by offsets."""

    content: bytes = b""

    def beside(self, suffix: str) -> FileLocation:
        """Return a file that is not there."""
        return Bytes(self.url + suffix)

    def exists(self) -> bool:
        """Tell that there is no file beside."""
        return not self.url.endswith(".meta")

    def stamp(self) -> tuple[Any, ...]:
        """Return the size."""
        return (len(self.content),)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return what reads it."""
        return Source(self.content)

    def read_bytes(self) -> bytes:
        """Return all of it."""
        return self.content

    def write_bytes(self, data: bytes) -> None:
        """Nothing is written."""
        raise AssertionError("nothing is written")

    def remove(self) -> None:
        """Nothing is removed."""
        raise AssertionError("nothing is removed")


def in_memory(content: bytes) -> PosixLocation:
    """Return a file with a path whose bytes are in memory; there is one, and it is used again."""
    os.ftruncate(_descriptor(), 0)
    os.pwrite(_descriptor(), content, 0)
    return PosixLocation(f"/proc/self/fd/{_descriptor()}")


_made: list[int] = []


def _descriptor() -> int:
    if not _made:
        _made.append(os.memfd_create("fuzz"))
    return _made[0]
