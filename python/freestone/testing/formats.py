"""The kit for formats."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from freestone.collections.array import Array
from freestone.collections.frame import Frame
from freestone.errors import FileChangedError, FreestoneError
from freestone.io import Dataset, Format, Writer, open_dataset, open_writer
from freestone.io.formats import format_of
from freestone.io.stores import Draft, FileLocation
from freestone.io.stores.posix import PosixLocation
from freestone.storage.writing import shape_of, write
from freestone.testing.expecting import expect, expect_equal, expecting_no_error

__all__ = ["check_format"]

CUTS = 16


def check_format(
    name: str,
    folder: str | os.PathLike[str],
    values: Iterable[Any] | None = None,
    *,
    only_paths: bool = False,
    is_text: bool = False,
) -> None:
    """Check a format: what is written is read, any rows of it, by any process, or refused.

    Parameters
    ----------
    name
        What ``format=`` calls it: one of freestone's, or an entry point in ``freestone.formats`` of
        a package that is installed.
    folder
        An empty folder for the files.
    values
        What the format holds: arrays, sparse arrays or Arrow tables, of five rows or more each. By
        default a matrix of numbers.
    only_paths
        Whether its files are read by a library that needs a path; else they are also read from a
        store that has none.
    is_text
        Whether a file that ends too early can be one as good: only errors are checked then.

    Raises
    ------
    AssertionError
        If rows come back that were not written, or a damaged file is read as if it were whole; it
        names the value, how it was written and the rows.

    Notes
    -----
    Each value is written as one block and as several; read as a whole, in ranges of rows, from a
    pickled copy, and from a store that only reads at an offset. Then files that were cut, replaced
    or removed have to be noticed: with one of freestone's errors, and never with other rows.
    """
    with expecting_no_error(f"the format {name!r}"):
        format = format_of("", name)
    expect(isinstance(format, Format), f"{name!r} is {format!r}, and no Format")
    _check_names(format)
    rows = np.random.default_rng(7).normal(size=(7, 3))
    values = [rows] if values is None else list(values)
    expect(values, "there are no values to check the format with; give one at least")
    for number, value in enumerate(values):
        _Check(format, Path(folder), f"value-{number}", value, only_paths, is_text).run()


def _check_names(format: Format) -> None:
    expect(format.suffixes, f"the format {format.name!r} has no suffixes")
    for suffix in format.suffixes:
        is_suffix = suffix.startswith(".") and len(suffix) > 1 and suffix == suffix.lower()
        expect(is_suffix, f"the suffix {suffix!r} is no dot and lower-case letters")
        for spelt in (suffix, suffix.upper()):
            found = format_of(f"file{spelt}")
            problem = f"'file{spelt}' is a file of {found.name!r}, and not of {format.name!r}"
            expect(found.name == format.name, problem)


@dataclass(frozen=True)
class _Check:
    format: Format
    folder: Path
    label: str
    value: Any
    only_paths: bool
    is_text: bool

    def run(self) -> None:
        path = str(self.folder / f"{self.label}{self.format.suffixes[0]}")
        rows = self.value.shape[0]
        expect(rows >= 5, f"{self.label} has {rows} rows; a check takes at least 5")
        if self.format.open_writer is None:
            raise AssertionError("formats that are only read have no kit yet")
        for how, value in (("one block", self.value), ("blocks of 2 rows", self._in_blocks())):
            with expecting_no_error(f"{self.label} as {how}"):
                write(value, path, format=self.format.name)
                dataset = self._check_reads(path, f"{self.label} as {how}")
        with expecting_no_error(f"{self.label}: its writer"):
            self._check_sizes(path)
        self._check_a_file_that_changes(path, dataset)
        self._check_a_file_that_is_cut(path)

    def _open(self, path: str) -> Dataset:
        return open_dataset(path, format=self.format.name, matrix=False)

    def _in_blocks(self) -> Any:
        if hasattr(self.value, "schema"):
            return Frame.from_table(self.value, 2)
        return Array.from_numpy(self.value, 2)

    def _check_reads(self, path: str, what: str) -> Dataset:
        dataset, rows = self._open(path), self.value.shape[0]
        expect(dataset.rows == rows, f"{what}: {dataset.rows} rows, and {rows} were written")
        dataset.check()
        copies = {"": dataset, "of a pickled copy ": pickle.loads(pickle.dumps(dataset))}
        if not self.only_paths:
            with expecting_no_error(f"{what}, from a store with no paths"):
                copies["from a store with no paths "] = self.format.open_dataset(Pathless(path))
        for copy, each in copies.items():
            for start, stop in _ranges(rows):
                wanted = self.value[start:stop]
                expect_equal(each.read(start, stop), wanted, f"{what}: rows {start}:{stop} {copy}")
        self._check_other_ways(dataset, what)
        return dataset

    def _check_other_ways(self, dataset: Dataset, what: str) -> None:
        rows = self.value.shape[0]
        expect_equal(dataset.read(0, rows, threads=2), self.value, f"{what}: rows of two threads")
        if isinstance(self.value, np.ndarray):
            out = np.empty(self.value[1:].shape, self.value.dtype)
            if dataset.read_into(out, 1, rows):
                expect_equal(out, self.value[1:], f"{what}: rows read into an array")

    def _check_sizes(self, path: str) -> None:
        """Check what workers rely on that write one file at the same time."""
        blocks = self._in_blocks()
        writer = open_writer(path, shape_of(blocks), format=self.format.name)
        if not isinstance(writer, Writer):
            return
        totals = [0] * writer.sections
        for block, start in zip(blocks.iter_blocks(), blocks.offsets[:-1].tolist(), strict=True):
            found = [memoryview(piece).nbytes for piece in writer.encode(block, start)]
            promised, rows = writer.sizes(block.shape[0]), f"{block.shape[0]} rows from {start}"
            expect(len(found) == writer.sections, f"encode() of {rows} gives {len(found)} pieces")
            problem = f"sizes() of {rows} says {promised}, and encode() gives {found} bytes"
            expect(promised in (None, found), problem)
            totals = [sum(pair) for pair in zip(totals, found, strict=True)]
        lengths = [len(writer.head(nbytes)) for nbytes in ([], totals)]
        problem = f"head([]) has {lengths[0]} bytes, and head({totals}) {lengths[1]}"
        expect(lengths[0] == lengths[1], problem)

    def _check_a_file_that_changes(self, path: str, dataset: Dataset) -> None:
        if not os.path.isfile(path):
            return
        content = Path(path).read_bytes()
        os.replace(path, f"{path}.old")
        Path(path).write_bytes(content)
        try:
            dataset.read(0, dataset.rows)
        except FileChangedError:
            return
        raise AssertionError(f"{self.label}: a file that was replaced is read as if it were not")

    def _check_a_file_that_is_cut(self, path: str) -> None:
        if not os.path.isfile(path):
            return
        content = Path(path).read_bytes()
        for length in sorted({len(content) * cut // CUTS for cut in range(CUTS)}):
            Path(path).write_bytes(content[:length])
            where = f"{self.label}: of a file cut to {length} of {len(content)} bytes"
            try:
                dataset = self._open(path)
                found = dataset.read(0, dataset.rows)
            except FreestoneError:
                continue
            except Exception as error:
                reason = f"comes {type(error).__name__}: {error}; raise FormatError"
                raise AssertionError(f"{where} {reason}") from error
            # A library may have written something behind the rows.
            if not self.is_text:
                expect_equal(found, self.value, f"{where} come rows without an error, which")


def _ranges(rows: int) -> Iterator[tuple[int, int]]:
    yield from [(0, rows), (0, 0), (rows, rows), (1, 3), (2, rows), (0, 1)]
    yield from [(row, row + 1) for row in range(rows)]


@dataclass(frozen=True)
class Pathless(FileLocation):
    """A file of this machine behind a store that has no paths, and only reads at an offset."""

    @property
    def _file(self) -> PosixLocation:
        return PosixLocation(self.url)

    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added."""
        return Pathless(self.url + suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self._file.exists()

    def stamp(self) -> tuple[Any, ...]:
        """Return the file's own."""
        return self._file.stamp()

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return what reads at an offset."""
        return _Source(self.url)

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        return self._file.read_bytes()

    def write_bytes(self, data: bytes) -> None:
        """Write a small file."""
        self._file.write_bytes(data)

    def create(self, nbytes: int | None) -> Draft | None:
        """Return None: files are written only from their beginning to their end."""
        return None

    def remove(self) -> None:
        """Remove the file if it is there."""
        self._file.remove()


@dataclass(frozen=True)
class _Source:
    path: str

    @property
    def nbytes(self) -> int:
        return os.path.getsize(self.path)

    def read_at(self, offset: int, nbytes: int) -> bytes:
        with open(self.path, "rb") as file:
            return os.pread(file.fileno(), nbytes, offset)
