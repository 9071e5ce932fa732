"""Blocks as segments in HDFS, each a file of its own with its `.meta`."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from freestone import _native
from freestone.errors import FormatError, UsageError
from freestone.io.contract import encoded, head_of
from freestone.io.formats import format_of
from freestone.io.formats.csv_writing import column_type
from freestone.io.formats.meta import Meta, value_type_of
from freestone.io.stores import FileLocation
from freestone.io.stores.hdfs import HdfsLocation
from freestone.io.writer import Shape, Writer

__all__ = ["SegmentWriter"]

# Files that a call writes at once, and the bytes that they may have together.
THREADS, MAX_OPEN = 16, 128 << 20


def _put(location: HdfsLocation, content: list[Any]) -> None:
    location.put(functools.partial(_write_all, content=content))


def _write_all(file: Any, content: list[Any]) -> None:
    for piece in content:
        view = memoryview(piece)
        file.write(view)
        _native.io.io_count(written=view.nbytes)


class _Uploads:
    """Files that are being written at once, of at most so many bytes together.

    A file is closed when the NameNode knows that it is complete, which the client asks again after
    half a second if the DataNode has not told it yet; so files wait together, not one after the
    other. What a file is made of is kept until then: a DataNode may die.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._open: dict[Future[None], int] = {}

    def add(self, location: HdfsLocation, content: list[Any]) -> int:
        """Begin to write a file once there is room; how many bytes it has."""
        nbytes = sum(memoryview(piece).nbytes for piece in content)
        while self._open and nbytes + sum(self._open.values()) > MAX_OPEN:
            self._wait()
        self._open[self._pool.submit(_put, location, content)] = nbytes
        return nbytes

    def finish(self) -> None:
        """Wait until all files are complete."""
        while self._open:
            self._wait()

    def _wait(self) -> None:
        done, _ = wait(self._open, return_when=FIRST_COMPLETED)
        for each in done:
            del self._open[each]
            each.result()


@dataclass(frozen=True, kw_only=True)
class SegmentWriter:
    """Writes each block as a segment; the folder takes its name when all are there.

    Attributes
    ----------
    location : HdfsLocation
        The folder.
    local : FileLocation or None
        The local file whose `.meta` is to point to the folder.
    shape : Shape
        What is to be written.
    format : str
        The format of a segment.
    options : dict
        Those of the format.
    """

    location: HdfsLocation
    local: FileLocation | None
    shape: Shape
    format: str
    options: dict[str, Any]

    def begin(self) -> HdfsLocation:
        """Make the folder in which segments are written."""
        if self.location.exists() and not self.location.is_folder():
            raise FormatError(self.location.url, "it is a file; remove it first")
        parent, _, name = self.location.hdfs_path.rstrip("/").rpartition("/")
        part = self.location.at(f"{parent}/.{name}.{uuid.uuid4().hex[:12]}.part")
        part.make_folder()
        return part

    def write(self, part: HdfsLocation, segments: Iterable[tuple[int, Any]]) -> int:
        """Write blocks as segments, several at once; how many bytes that were.

        Parameters
        ----------
        part
            What `begin` gave.
        segments
            Number, counted from 1, and block of each.
        """
        nbytes = 0
        with ThreadPoolExecutor(THREADS) as pool:
            uploads = _Uploads(pool)
            for number, block in segments:
                for location, content in self._files(part, number, block):
                    nbytes += uploads.add(location, content)
            uploads.finish()
        return nbytes

    def _files(
        self, part: HdfsLocation, number: int, block: Any
    ) -> Iterator[tuple[HdfsLocation, list[Any]]]:
        """Yield the files of a segment, and what they are made of."""
        rows = block.num_rows if self.shape.kind == "frame" else block.shape[0]
        shape = replace(
            self.shape, rows=rows, nonzeros=int(block.nnz) if self.shape.sparse else None
        )
        location = part.inside(f"{self.location.name}_segment_{number}")
        open_writer = format_of(location.name, self.format).open_writer
        writer = None if open_writer is None else open_writer(location, shape, **self.options)
        if not isinstance(writer, Writer):
            raise UsageError(f"segments are written as csv, dbdf, mtx or npy, not as {self.format}")
        pieces = encoded(writer, block, 0)
        sizes = [memoryview(piece).nbytes for piece in pieces]
        yield location, [head_of(writer, sizes), *writer.shift(pieces, [0] * len(pieces))]
        for suffix, text in writer.beside(sizes).items():
            if text is not None:
                yield location.beside(suffix), [text]

    def commit(self, part: HdfsLocation) -> None:
        """Give the folder its name; the one that had it goes."""
        old = None
        if self.location.exists():
            old = self.location.at(part.hdfs_path + ".old")
            self.location.move(old)
        try:
            part.move(self.location)
        except BaseException:
            if old is not None:
                old.move(self.location)
            raise
        if old is not None:
            old.remove()
        if self.local is not None:
            self.local.beside(".meta").write_bytes(self._meta().encode())

    def abandon(self, part: HdfsLocation) -> None:
        """Remove what was written."""
        with contextlib.suppress(Exception):
            part.remove()

    def _meta(self) -> Meta:
        schema: tuple[tuple[str, str], ...] = ()
        if self.shape.kind == "frame":
            kinds = [column_type(field) for field in self.shape.schema]
            schema = tuple(zip(self.shape.columns, kinds, strict=True))
        return Meta(
            rows=self.shape.rows,
            columns=self.shape.width,
            value_type=None if schema else value_type_of(str(self.shape.dtype)),
            schema=schema,
            nonzeros=self.shape.nonzeros,
            hdfs=self.location.hdfs_path,
        )
