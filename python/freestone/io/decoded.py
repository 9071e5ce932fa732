"""Text in a compressed file, or of another encoding: each process that reads it decodes it all."""

from __future__ import annotations

import bz2
import codecs
import functools
import gzip
import io
import lzma
import os
import zlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.formats.names import COMPRESSED
from freestone.io.formats.tables import needs
from freestone.io.stores import FileLocation

__all__ = ["MAX_NBYTES", "CompressedLocation", "Content", "DecodedLocation", "EncodedLocation"]

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
class DecodedLocation(FileLocation):
    """A file that is read as what its bytes stand for.

    Attributes
    ----------
    location : FileLocation
        The file.
    """

    location: FileLocation

    @abstractmethod
    def decoded(self, raw: bytes) -> bytes:
        """Return what some bytes stand for: text in UTF-8."""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.location.name

    @property
    def is_shared(self) -> bool:
        """Whether other processes reach it."""
        return self.location.is_shared

    @property
    def is_cut(self) -> bool:
        """Whether parts of it are read without the rest."""
        return False

    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added."""
        return self.location.beside(suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self.location.exists()

    def stamp(self) -> tuple[Any, ...]:
        """Return what tells its version; first how many bytes it stands for."""
        stamp = self.location.stamp()
        return _size(self, stamp, os.getpid()), *stamp

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return what it stands for."""
        return _content(self, (stamp or self.stamp())[1:], os.getpid())

    def read_bytes(self) -> bytes:
        """Return what it stands for."""
        source = self.source()
        return bytes(source.read_at(0, source.nbytes))

    def write_bytes(self, data: bytes) -> None:
        """Refuse: such files are only read."""
        raise UsageError(f"{self.url}: compressed files, and other encodings, are only read")

    def remove(self) -> None:
        """Remove the file if it is there."""
        self.location.remove()


@dataclass(frozen=True)
class CompressedLocation(DecodedLocation):
    """A compressed file, read as what it is decompressed to."""

    @property
    def name(self) -> str:
        """The name without what says how it is compressed."""
        return self.location.name.rsplit(".", 1)[0]

    def decoded(self, raw: bytes) -> bytes:
        """Decompress a file's bytes."""
        try:
            with _opened(self.location, raw) as file:
                parts, nbytes = [], 0
                while part := file.read(STEP):
                    parts.append(part)
                    nbytes += len(part)
                    if nbytes > MAX_NBYTES:
                        most = f"{MAX_NBYTES >> 30} GiB of text"
                        reason = f"it has more than {most}; decompress it first"
                        raise FormatError(self.url, reason)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            reason = f"it can't be decompressed: {error} (truncated, damaged, or of another kind)"
            raise FormatError(self.url, reason) from error
        return b"".join(parts)


@dataclass(frozen=True)
class EncodedLocation(DecodedLocation):
    """Text in another encoding than UTF-8, read as UTF-8.

    Attributes
    ----------
    encoding : str
        One that Python knows, such as ``"latin-1"``.

    Raises
    ------
    UsageError
        When Python knows no such encoding of texts.
    """

    encoding: str

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except (LookupError, TypeError):
            raise UsageError(
                f"encoding={self.encoding!r}: give one that Python knows, such as 'latin-1', "
                "'cp1252' or 'utf-16'"
            ) from None

    def decoded(self, raw: bytes) -> bytes:
        """Return a file's text in UTF-8."""
        try:
            return codecs.decode(raw, self.encoding).encode()
        except UnicodeError as error:
            raise FormatError(
                self.url, f"its text is not of encoding={self.encoding!r}: {error}"
            ) from None


@functools.lru_cache(maxsize=4096)
def _size(location: DecodedLocation, stamp: tuple[Any, ...], process: int) -> int:
    """Return how many bytes a version of a file stands for."""
    return len(_content(location, stamp, process))


@functools.lru_cache(maxsize=2)
def _content(location: DecodedLocation, stamp: tuple[Any, ...], process: int) -> Content:
    """Decode a version of a file; the two last ones of this process are kept."""
    found = location.decoded(location.location.read_bytes())
    return found if isinstance(found, Content) else Content(found)


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
