"""Files in HDFS as DAPHNE lays them out: a folder of segments, each with its `.meta`.

``hdfs://host:port/dir/F.csv.hdfs`` is a folder ``F.csv.hdfs`` with files ``F.csv.hdfs_segment_1``
and so on, of which each holds some rows, and beside each a `.meta` with its shape. A local file
``F.csv.hdfs.meta`` points to such a folder. Each worker writes segments of its own, and reads any
rows of any of them.
"""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from freestone.errors import FileChangedError, FileMissingError, FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats import format_of
from freestone.io.formats.meta import Meta, read_meta
from freestone.io.stores import Place
from freestone.io.stores.hdfs import HdfsPlace
from freestone.io.stores.posix import PosixPlace
from freestone.io.telling import telling
from freestone.io.writer import Shape, Writer

__all__ = ["SUFFIX", "SegmentWriter", "open_segments", "segments_of"]

SUFFIX = ".hdfs"


@dataclass(frozen=True, kw_only=True)
class Segments(Dataset):
    """Rows of segments, one after the other."""

    parts: tuple[Dataset, ...]
    ends: tuple[int, ...]

    def check(self) -> None:
        """Each segment is checked when it is read; here, that none was added or taken away."""
        assert isinstance(self.place, HdfsPlace)
        if _numbers(self.place) != len(self.parts):
            raise FileChangedError(self.place.url, "it has another number of segments")

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

    def _read(self, start: int, stop: int, threads: int) -> Any:
        parts = self._within(start, stop)
        blocks = [part.read(low, high, threads=threads) for part, low, high in parts]
        if not blocks:
            return self.parts[0].read(0, 0)
        return _joined(blocks)


def _joined(blocks: list[Any]) -> Any:
    first = blocks[0]
    if len(blocks) == 1:
        return first
    if hasattr(first, "combine_chunks"):
        import pyarrow as pa

        return pa.concat_tables(blocks)
    if hasattr(first, "tocsr"):
        import scipy.sparse

        return scipy.sparse.vstack(blocks, format="csr")
    return np.concatenate(blocks)


def segments_of(place: Place) -> HdfsPlace | None:
    """Return the folder of segments that a path or URL names, or None for any other file."""
    if not place.name.endswith(SUFFIX):
        return None
    if isinstance(place, HdfsPlace):
        return place
    if not isinstance(place, PosixPlace):
        raise UsageError(f"{place.url} is no path and no hdfs:// URL; segments are in HDFS only")
    with telling(place.beside(".meta").url):
        meta = read_meta(place)
    if meta is None:
        return HdfsPlace.of(f"hdfs:///{place.name}")
    if meta.hdfs is None:
        raise FormatError(
            place.beside(".meta").url, "it does not say where in HDFS the segments are"
        )
    return HdfsPlace.of(f"hdfs://{meta.hdfs}")


def _numbers(place: HdfsPlace) -> int:
    """Return how many segments a folder has; they are numbered from 1."""
    prefix = f"{place.name}_segment_"
    names = [name for name in place.names() if name.startswith(prefix)]
    numbers = sorted(int(word) for name in names if (word := name.removeprefix(prefix)).isdigit())
    if numbers != list(range(1, len(numbers) + 1)):
        raise FormatError(place.url, f"its segments are {numbers}; they are numbered from 1")
    return len(numbers)


def _segment(place: HdfsPlace, number: int) -> HdfsPlace:
    return place.inside(f"{place.name}_segment_{number}")


def open_segments(place: HdfsPlace, module: ModuleType, options: dict[str, Any]) -> Dataset:
    """Look at a folder of segments."""
    if not place.exists():
        raise FileMissingError(place.url)
    if not place.is_folder():
        raise FormatError(place.url, "it is a file, and a folder of segments is wanted")
    count = _numbers(place)
    if not count:
        raise FormatError(place.url, "it is a folder without segments")
    parts = []
    for number in range(1, count + 1):
        segment = _segment(place, number)
        with telling(segment.url):
            parts.append(module.open_dataset(segment, **options))
    first = parts[0]
    for part in parts:
        if (part.kind, part.columns, part.dtype) != (first.kind, first.columns, first.dtype):
            reason = f"it does not go with the first segment: {part.columns} of {part.dtype}"
            raise FormatError(part.place.url, reason)
    ends = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    return Segments(
        place=place,
        kind=first.kind,
        rows=ends[-1],
        columns=first.columns,
        dtype=first.dtype,
        row_nbytes=max(part.row_nbytes for part in parts),
        parts=tuple(parts),
        ends=tuple(ends),
    )


def _put(file: tuple[HdfsPlace, list[Any]]) -> None:
    place, content = file
    place.put(functools.partial(_write_all, content=content))


def _write_all(file: Any, content: list[Any]) -> None:
    for piece in content:
        file.write(memoryview(piece))


@dataclass(frozen=True, kw_only=True)
class SegmentWriter:
    """Writes each block as a segment; the folder takes its name when all are there.

    Attributes
    ----------
    place : HdfsPlace
        The folder.
    local : Place or None
        The local file whose `.meta` is to point to the folder.
    shape : Shape
        What is to be written.
    format : str
        The format of a segment.
    options : dict
        Those of the format.
    """

    place: HdfsPlace
    local: Place | None
    shape: Shape
    format: str
    options: dict[str, Any]

    def begin(self) -> HdfsPlace:
        """Make the folder in which segments are written."""
        if self.place.exists() and not self.place.is_folder():
            raise FormatError(self.place.url, "it is a file; remove it first")
        parent, _, name = self.place.hdfs_path.rstrip("/").rpartition("/")
        part = self.place.at(f"{parent}/.{name}.{uuid.uuid4().hex[:12]}.part")
        part.make_folder()
        return part

    def write(self, part: HdfsPlace, number: int, block: Any, start: int) -> None:
        """Write a block as segment `number`, counted from 1."""
        rows = block.num_rows if self.shape.kind == "frame" else block.shape[0]
        nonzeros = int(block.nnz) if self.shape.sparse else None
        shape = Shape(
            kind=self.shape.kind,
            rows=rows,
            columns=self.shape.columns,
            dtype=self.shape.dtype,
            sparse=self.shape.sparse,
            nonzeros=nonzeros,
            schema=self.shape.schema,
        )
        place = part.inside(f"{self.place.name}_segment_{number}")
        writer = format_of(place.name, self.format).open_writer(place, shape, **self.options)
        if not isinstance(writer, Writer):
            raise UsageError(f"segments are written as csv, dbdf, mtx or npy, not as {self.format}")
        pieces = writer.encode(block, 0)
        sizes = [memoryview(piece).nbytes for piece in pieces]
        content = [writer.head(sizes), *writer.shift(pieces, [0] * len(pieces))]
        small = [(place.beside(suffix), [text]) for suffix, text in writer.beside(sizes).items()]
        # Each waits until the NameNode knows that it is complete, so both are written at once.
        with ThreadPoolExecutor(1 + len(small)) as pool:
            list(pool.map(_put, [(place, content), *small]))

    def commit(self, part: HdfsPlace) -> None:
        """Give the folder its name; the one that had it goes."""
        old = None
        if self.place.exists():
            old = self.place.at(part.hdfs_path + ".old")
            self.place.move(old)
        try:
            part.move(self.place)
        except BaseException:
            if old is not None:
                old.move(self.place)
            raise
        if old is not None:
            old.remove()
        if self.local is not None:
            self.local.beside(".meta").write_bytes(self._meta().encode())

    def abandon(self, part: HdfsPlace) -> None:
        """Remove what was written."""
        with contextlib.suppress(Exception):
            part.remove()

    def _meta(self) -> Meta:
        from freestone.io.formats.meta import value_type_of

        frame = self.shape.kind == "frame"
        return Meta(
            rows=self.shape.rows,
            columns=self.shape.width,
            value_type="str" if frame else value_type_of(str(self.shape.dtype)),
            hdfs=self.place.hdfs_path,
        )
