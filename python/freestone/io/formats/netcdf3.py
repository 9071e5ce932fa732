"""The header of NetCDF 3: dimensions, and where the values of each variable lie.

The libraries that read such files read all of a file; here only the header is, and then those rows
that are wanted, from any store. References: Unidata, "NetCDF classic format specification".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from freestone.errors import FormatError
from freestone.io.formats.mtx import read_some
from freestone.io.stores import FileLocation

__all__ = ["CLASSIC", "Head", "Stored", "read_head"]

CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
# The first read of a header, and the most that one is taken to have.
HEAD_NBYTES, MAX_HEAD_NBYTES = 1 << 16, 1 << 26
DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
TYPES = {
    1: ">i1",
    2: "S1",
    3: ">i2",
    4: ">i4",
    5: ">f4",
    6: ">f8",
    7: ">u1",
    8: ">u2",
    9: ">u4",
    10: ">i8",
    11: ">u8",
}


@dataclass(frozen=True)
class Stored:
    """A variable: its shape, its axes' names, the first byte, and bytes from row to row."""

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    offset: int
    stride: int
    attributes: dict[str, Any]
    is_record: bool


@dataclass
class Head:
    """What a header says."""

    dimensions: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Stored] = field(default_factory=dict)


class _EndOfBytesError(Exception):
    """The header has more bytes than were read."""


def read_head(location: FileLocation, stamp: tuple[Any, ...]) -> Head:
    """Read the header of a NetCDF 3 file.

    Raises
    ------
    FormatError
        When it is none.
    """
    nbytes = HEAD_NBYTES
    while True:
        content = read_some(location, stamp, nbytes)
        try:
            return _Parser(content, int(stamp[0])).head()
        except _EndOfBytesError:
            if len(content) == int(stamp[0]) or nbytes >= MAX_HEAD_NBYTES:
                raise FormatError(location.url, "its header has no end (truncated?)") from None
            nbytes *= 8
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            reason = f"its header is not that of NetCDF 3: {error} ({type(error).__name__})"
            raise FormatError(location.url, reason) from None


class _Parser:
    def __init__(self, content: bytes, nbytes: int) -> None:
        self.content, self.nbytes = content, nbytes
        self.version, self.at = content[3], 4
        # Counts, and places in the file.
        self.count = 8 if self.version == 5 else 4
        self.location = 4 if self.version == 1 else 8

    def head(self) -> Head:
        """Return what all of the header says."""
        records = self._number(self.count)
        is_open = records == (1 << 8 * self.count) - 1
        dimensions = self._list(DIMENSION, lambda: self._number(self.count))
        self._list(ATTRIBUTE, self._attribute)
        found = self._list(VARIABLE, lambda: self._variable(list(dimensions.items())))
        return Head(dimensions, self._placed(found, None if is_open else records))

    def _placed(self, found: dict[str, Stored], records: int | None) -> dict[str, Stored]:
        """Return variables; those of records with how many there are, and how far apart."""
        sizes = [_row_nbytes(one) for one in found.values() if one.is_record]
        # Rows are padded, but for those of the only variable that has records.
        step = sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)
        if records is None:
            first = min((one.offset for one in found.values() if one.is_record), default=0)
            records = (self.nbytes - first) // step if step else 0
        return {
            name: replace(one, shape=(records, *one.shape[1:]), stride=step)
            if one.is_record
            else one
            for name, one in found.items()
        }

    def _take(self, nbytes: int) -> bytes:
        if self.at + nbytes > len(self.content):
            raise _EndOfBytesError
        self.at += nbytes
        return self.content[self.at - nbytes : self.at]

    def _number(self, nbytes: int) -> int:
        return int.from_bytes(self._take(nbytes), "big")

    def _padded(self, nbytes: int) -> bytes:
        return self._take(-(-nbytes // 4) * 4)[:nbytes]

    def _name(self) -> str:
        return self._padded(self._number(self.count)).decode()

    def _list(self, tag: int, one: Callable[[], Any]) -> dict[str, Any]:
        found, count = self._number(4), self._number(self.count)
        if found != tag and (found, count) != (0, 0):
            raise ValueError(f"a list of tag {found} where {tag} is wanted")
        return {self._name(): one() for _ in range(count)}

    def _attribute(self) -> Any:
        dtype = np.dtype(TYPES[self._number(4)])
        raw = self._padded(self._number(self.count) * dtype.itemsize)
        if dtype.kind == "S":
            return raw
        return np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))

    def _variable(self, dimensions: list[tuple[str, int]]) -> Stored:
        ids = [self._number(self.count) for _ in range(self._number(self.count))]
        attributes = self._list(ATTRIBUTE, self._attribute)
        dtype = TYPES[self._number(4)]
        self._number(self.count)
        offset = self._number(self.location)
        axes = tuple(dimensions[one][0] for one in ids)
        shape = tuple(dimensions[one][1] for one in ids)
        is_record = bool(shape) and shape[0] == 0
        stored = Stored(shape, axes, dtype, offset, 0, attributes, is_record)
        return replace(stored, stride=_row_nbytes(stored))


def _row_nbytes(stored: Stored) -> int:
    return np.dtype(stored.dtype).itemsize * math.prod(stored.shape[1:])
