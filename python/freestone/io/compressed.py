"""Text in a compressed file: it is decompressed by each process that reads it, and then cut."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import os
import zlib
from dataclasses import dataclass
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.formats.names import COMPRESSED
from freestone.io.formats.tables import needs
from freestone.io.stores import FileLocation

__all__ = ["MAX_NBYTES", "CompressedLocation"]

# A few kilobytes can decompress to any size.
MAX_NBYTES = 4 << 30
STEP = 4 << 20


class Content(bytes):
    """Bytes that are read at an offset, as those of a store are."""

    @property
    def nbytes(self) -> int:
        """How many there are."""
        return len(self)

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes from an offset on."""
        return self[offset : offset + nbytes]


@dataclass(frozen=True)
class CompressedLocation(FileLocation):
    """A compressed file, read as what it is decompressed to.

    Attributes
    ----------
    location : FileLocation
        The file.
    """

    location: FileLocation

    @property
    def name(self) -> str:
        """The name without what says how it is compressed."""
        return self.location.name.rsplit(".", 1)[0]

    @property
    def is_shared(self) -> bool:
        """Whether other processes reach it."""
        return self.location.is_shared

    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added."""
        return self.location.beside(suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self.location.exists()

    def stamp(self) -> tuple[Any, ...]:
        """Return what tells its version; first how many bytes it is decompressed to."""
        stamp = self.location.stamp()
        return _size(self.location, stamp, os.getpid()), *stamp

    def source(self, stamp: tuple[Any, ...] = ()) -> Content:
        """Return what it is decompressed to."""
        return _content(self.location, (stamp or self.stamp())[1:], os.getpid())

    def read_bytes(self) -> bytes:
        """Return what it is decompressed to."""
        return self.source()

    def write_bytes(self, data: bytes) -> None:
        """Refuse: compressed files are only read."""
        raise UsageError(f"{self.url}: compressed files are only read")

    def remove(self) -> None:
        """Remove the file if it is there."""
        self.location.remove()


@functools.lru_cache(maxsize=4096)
def _size(location: FileLocation, stamp: tuple[Any, ...], process: int) -> int:
    """Return how many bytes a version of a file is decompressed to."""
    return len(_content(location, stamp, process))


@functools.lru_cache(maxsize=2)
def _content(location: FileLocation, stamp: tuple[Any, ...], process: int) -> Content:
    """Decompress a version of a file; the two last ones of this process are kept."""
    raw = location.read_bytes()
    try:
        with _opened(location, raw) as file:
            parts, nbytes = [], 0
            while part := file.read(STEP):
                parts.append(part)
                nbytes += len(part)
                if nbytes > MAX_NBYTES:
                    reason = f"it has more than {MAX_NBYTES >> 30} GiB of text; decompress it first"
                    raise FormatError(location.url, reason)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = f"it can't be decompressed: {error} (truncated, damaged, or of another kind)"
        raise FormatError(location.url, reason) from error
    return Content(b"".join(parts))


def _opened(location: FileLocation, raw: bytes) -> Any:
    """Return a file of what compressed bytes decompress to."""
    suffix = location.name.lower().rsplit(".", 1)[-1]
    assert f".{suffix}" in COMPRESSED
    if suffix == "gz":
        return gzip.GzipFile(fileobj=io.BytesIO(raw))
    if suffix == "bz2":
        return bz2.BZ2File(io.BytesIO(raw))
    if suffix == "xz":
        return lzma.LZMAFile(io.BytesIO(raw))
    pa = needs("pyarrow", "arrow", "zst")
    return pa.CompressedInputStream(pa.BufferReader(raw), "zstd")
