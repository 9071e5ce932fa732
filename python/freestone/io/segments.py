"""Files in HDFS as DAPHNE lays them out: a folder of segments, each with its `.meta`.

``hdfs://host:port/dir/F.csv.hdfs`` is a folder ``F.csv.hdfs`` with files ``F.csv.hdfs_segment_1``
and so on, of which each holds some rows, and beside each a `.meta` with its shape. A local file
``F.csv.hdfs.meta`` points to such a folder. Each worker writes segments of its own, and reads any
rows of any of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from freestone.errors import FileChangedError, FileMissingError, FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats import Format
from freestone.io.formats.meta import CODES, read_meta
from freestone.io.held import MAX_HELD
from freestone.io.stores import FileLocation
from freestone.io.stores.hdfs import HdfsLocation
from freestone.io.stores.posix import PosixLocation
from freestone.io.telling import telling

__all__ = ["SUFFIX", "check_reported", "open_segments", "segments_of"]

T = TypeVar("T")
SUFFIX = ".hdfs"
# Questions to HDFS, which wait most of their time, and reads of segments, which have work to do.
ASKED_AT_ONCE, READ_AT_ONCE = 16, 4


@dataclass(frozen=True, kw_only=True)
class Segments(Dataset):
    """Rows of segments, one after the other."""

    parts: tuple[Dataset, ...]
    ends: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return sum(part.nbytes for part in self.parts)

    def check(self) -> None:
        """Each segment is checked when it is read; here, that none was added or taken away."""
        assert isinstance(self.location, HdfsLocation)
        if _numbers(self.location) != len(self.parts):
            raise FileChangedError(self.location.url, "it has another number of segments")

    def _within(self, start: int, stop: int) -> Iterator[tuple[Dataset, int, int]]:
        """Yield the segments that have some of the rows, and which of theirs."""
        for part, first, last in zip(self.parts, self.ends[:-1], self.ends[1:], strict=True):
            low, high = max(start, first), min(stop, last)
            if low < high:
                yield part, low - first, high - first

    def where(self, start: int, stop: int) -> list[str]:
        """Return the hosts that hold the largest of the parts of some rows."""
        parts = sorted(self._within(start, stop), key=lambda found: found[1] - found[2])
        return parts[0][0].where(*parts[0][1:]) if parts else []

    def look_up(self) -> None:
        """Ask where all segments are, many at once."""
        _at_once(lambda part: part.where(0, part.rows), [(part,) for part in self.parts])

    def _fill(self, start: int, stop: int) -> Any:
        parts = list(self._within(start, stop))
        if len(parts) != 1:
            return None
        part, low, high = parts[0]
        return part.read_block(low, high)

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        parts = list(self._within(start, stop))
        if not parts:
            return self.parts[0].read(0, 0)
        if self.dtype is not None and self.nonzeros is None:
            out = np.empty((stop - start, *self.columns), self.dtype)
            if self._into(out, start, stop, threads):
                return out
        read = functools.partial(_read_part, threads=threads)
        return _joined(_at_once(read, parts, READ_AT_ONCE))

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        def read(part: Dataset, low: int, high: int, first: int) -> bool:
            return part.read_into(out[first:][: high - low], low, high, threads=threads)

        parts, first = [], 0
        for part, low, high in self._within(start, stop):
            parts.append((part, low, high, first))
            first += high - low
        return all(_at_once(read, parts, READ_AT_ONCE))


def _read_part(part: Dataset, low: int, high: int, threads: int) -> Any:
    return part.read(low, high, threads=threads)


def _at_once(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], most: int = ASKED_AT_ONCE
) -> list[T]:
    """Call a function with each of some arguments, several at once: each waits for HDFS."""
    if len(calls) < 2:
        return [function(*each) for each in calls]
    with ThreadPoolExecutor(min(len(calls), most)) as pool:
        return list(pool.map(lambda each: function(*each), calls))


def _joined(blocks: list[Any]) -> Any:
    first = blocks[0]
    if len(blocks) == 1:
        return first
    if hasattr(first, "combine_chunks"):
        import pyarrow as pa

        return pa.concat_tables(blocks)
    if hasattr(first, "tocsr"):
        import scipy.sparse

        return scipy.sparse.vstack(blocks, format=first.format)
    return np.concatenate(blocks)


def segments_of(location: FileLocation) -> HdfsLocation | None:
    """Return the folder of segments that a path or URL names, or None for any other file."""
    if not location.name.endswith(SUFFIX):
        return None
    if isinstance(location, HdfsLocation):
        return location
    if not isinstance(location, PosixLocation):
        raise UsageError(f"{location.url} is no path and no hdfs:// URL; segments are in HDFS only")
    with telling(location.beside(".meta").url):
        meta = read_meta(location)
    if meta is None:
        return HdfsLocation.of(f"hdfs:///{location.name}")
    if meta.hdfs is None:
        raise FormatError(
            location.beside(".meta").url, "it does not say where in HDFS the segments are"
        )
    return HdfsLocation.of(meta.hdfs if "://" in meta.hdfs else f"hdfs:///{meta.hdfs.lstrip('/')}")


def check_reported(location: FileLocation, found: Dataset) -> None:
    """Compare segments with the local `.meta` that leads to them.

    Raises
    ------
    FormatError
        When it says another shape.
    """
    meta = read_meta(location)
    width = len(found.columns) if found.kind == "frame" else found.columns[0]
    if meta is not None and (meta.rows, meta.columns) != (found.rows, width):
        reason = (
            f"it says {meta.rows:,} x {meta.columns:,}, and the segments in {found.location.url} "
            f"have {found.rows:,} x {width:,}; correct it"
        )
        raise FormatError(location.beside(".meta").url, reason)


def _numbers(location: HdfsLocation) -> int:
    """Return how many segments a folder has; they are numbered from 1."""
    prefix = f"{location.name}_segment_"
    names = [name for name in location.names() if name.startswith(prefix)]
    numbers = sorted(int(word) for name in names if (word := name.removeprefix(prefix)).isdigit())
    if numbers != list(range(1, len(numbers) + 1)):
        raise FormatError(location.url, f"its segments are {numbers}; they are numbered from 1")
    return len(numbers)


def _segment(location: HdfsLocation, number: int) -> HdfsLocation:
    return location.inside(f"{location.name}_segment_{number}")


@dataclass(frozen=True, kw_only=True)
class Described(Dataset):
    """Rows of text whose shape and types its `.meta` says; who reads them finds where they begin.

    So the pass over the text is made by the workers, of which each has some segments.
    """

    options: dict[str, Any]

    def _found(self, start: int, stop: int) -> Dataset:
        """Return what the text holds, which is what its `.meta` says."""
        if (start, stop) == (0, self.rows) and self.nbytes <= MAX_HELD // READ_AT_ONCE:
            # No other block has rows of it, so its text is kept for this one alone.
            found = _look_at(self.location, self.options, whole=True)
        else:
            found = _looked_at(self.location, self.stamp, tuple(self.options.items()))
        reported = (self.kind, self.rows, self.columns, self.dtype)
        if (found.kind, found.rows, found.columns, found.dtype) != reported:
            reason = f"it holds {found.rows} rows of {found.columns}, and not what its .meta says"
            raise FormatError(self.location.url, reason)
        return found

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        return self._found(start, stop).read(start, stop, threads=threads)

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        return self._found(start, stop).read_into(out, start, stop, threads=threads)


@functools.lru_cache(maxsize=64)
def _looked_at(location: FileLocation, stamp: tuple[Any, ...], options: tuple[Any, ...]) -> Dataset:
    """Look at a file of text once for all blocks that this process reads of it."""
    return _look_at(location, dict(options))


def _look_at(location: FileLocation, options: dict[str, Any], *, whole: bool = False) -> Dataset:
    from freestone.io.formats import csv

    return csv.open_dataset(location, whole, **options)


def _described(location: FileLocation, format: Format, options: dict[str, Any]) -> Dataset | None:
    """Return what a `.meta` says of a segment of text; None where only the text tells."""
    if format.name != "csv" or options.keys() - {"separator", "delimiter", "index"}:
        return None
    meta = read_meta(location)
    if meta is None or meta.nonzeros is not None or meta.value_type in ("str", "bool"):
        return None
    if not meta.schema and meta.value_type is None:
        return None
    stamp = location.stamp()
    frame = bool(meta.schema)
    code = None if frame else CODES[str(meta.value_type)]
    return Described(
        location=location,
        kind="frame" if frame else "array",
        rows=meta.rows,
        columns=tuple(name for name, _ in meta.schema) if frame else (meta.columns,),
        dtype=code,
        row_nbytes=stamp[0] / max(meta.rows, 1) if code is None else meta.columns * int(code[1:]),
        stamp=stamp,
        options=options,
    )


def _opened(location: HdfsLocation, format: Format, options: dict[str, Any]) -> Dataset:
    with telling(location.url):
        found = _described(location, format, options) or format.open_dataset(location, **options)
    assert isinstance(found, Dataset)
    return found


def open_segments(location: HdfsLocation, format: Format, options: dict[str, Any]) -> Dataset:
    """Look at a folder of segments."""
    if not location.is_folder():
        if not location.exists():
            raise FileMissingError(location.url)
        raise FormatError(location.url, "it is a file, and a folder of segments is wanted")
    count = _numbers(location)
    if not count:
        raise FormatError(location.url, "it is a folder without segments")
    opened = functools.partial(_opened, format=format, options=options)
    parts = _at_once(opened, [(_segment(location, number),) for number in range(1, count + 1)])
    first = parts[0]
    for part in parts:
        if (part.kind, part.columns, part.dtype) != (first.kind, first.columns, first.dtype):
            reason = f"it does not go with the first segment: {part.columns} of {part.dtype}"
            raise FormatError(part.location.url, reason)
    ends = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    stored = [part.nonzeros for part in parts]
    return Segments(
        location=location,
        kind=first.kind,
        rows=ends[-1],
        columns=first.columns,
        dtype=first.dtype,
        row_nbytes=max(part.row_nbytes for part in parts),
        nonzeros=None if None in stored else sum(each or 0 for each in stored),
        parts=tuple(parts),
        ends=tuple(ends),
    )
