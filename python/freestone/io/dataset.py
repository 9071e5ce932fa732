"""What a file holds, before its rows are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from freestone.errors import FileChangedError, FormatError
from freestone.io.contract import check_rows
from freestone.io.stores import FileLocation
from freestone.io.telling import telling

__all__ = ["Bounds", "Dataset"]

# NumPy and SciPy have errors of their own for what has more bytes than an integer can say.
MAX_NBYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file says of the values in some of its rows.

    Attributes
    ----------
    start, stop : int
        The rows.
    ranges : mapping of str to tuple
        For columns of which it says so: the smallest and the largest value, as scalars of Arrow,
        both None if all are missing, and whether some may be missing. NaN is in no range.
    """

    start: int
    stop: int
    ranges: Mapping[str, tuple[Any, Any, bool]]


@dataclass(frozen=True, kw_only=True)
class Dataset(ABC):
    """Rows of a file, of which any range can be read by any process that reaches the file.

    A format derives a class from it, which has `read_rows` and what that needs to know of the file.
    It is pickled, and sent to those who read.

    Attributes
    ----------
    location : FileLocation
        The file.
    kind : {"array", "frame"}
        What its rows make.
    rows : int
        How many there are.
    columns : tuple
        The shape of a row of an array, such as ``(k,)``; the names of a frame's columns.
    dtype : str or None
        The dtype of an array, as NumPy writes it.
    row_nbytes : float
        Bytes of a row in memory, about.
    unit_rows : int
        Rows that should not be cut: those of a chunk or row group; 1 if any can be.
    stamp : tuple
        What the store says of the file's version: ``location.stamp()`` when it was opened.
    inode_changed : int
        When the inode of a local file last changed, in nanoseconds, which no copy sets back. It is
        part of the names of what is read; whether the file is the same, `stamp` says.
    nonzeros : int or None
        How many values a sparse matrix stores, about; None of what is not sparse.
    found : tuple of (str, object)
        Options of the format that nobody gave, and that the text shows, such as
        ``("separator", ";")``.
    untyped : tuple of str
        Columns of a frame that have no values from which their types could be seen.
    meaning : tuple of (str, object)
        What else files say of their rows that has to be the same for them to be one array, such as
        ``("units", "K")``; what a file does not say goes with anything.
    """

    is_columnar: ClassVar[bool] = False
    """Whether some columns of a frame are read without the others: see `select`."""

    has_bounds: ClassVar[bool] = False
    """Whether the file may say which values its rows have: see `bounds`."""

    location: FileLocation
    kind: Literal["array", "frame"]
    rows: int
    columns: tuple[Any, ...]
    dtype: str | None = None
    row_nbytes: float = 8.0
    unit_rows: int = 1
    stamp: tuple[Any, ...] = ()
    inode_changed: int = 0
    nonzeros: int | None = None
    found: tuple[tuple[str, Any], ...] = ()
    untyped: tuple[str, ...] = ()
    meaning: tuple[tuple[str, Any], ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the file; 0 if nobody says."""
        return int(self.stamp[0]) if self.stamp else 0

    def read(self, start: int, stop: int, *, threads: int = 1) -> Any:
        """Read rows ``start:stop``.

        Raises
        ------
        FileChangedError
            When the file is not the one that was opened.
        FormatError
            When the rows are not what the format says, with the place.
        """
        with self._unchanged():
            return self._whole(start, stop, threads)

    def read_block(self, start: int, stop: int) -> Any:
        """Read rows for the cache of this executor's node: what a call returns as its block.

        Where the file has the values as they are, they go from it into the cache piece by piece;
        else, and in any other process, this is `read`.
        """
        with self._unchanged():
            block = self._fill(start, stop)
            return self._whole(start, stop, 1) if block is None else block

    def read_into(self, out: Any, start: int, stop: int, *, threads: int = 1) -> bool:
        """Read rows into an array that is there, `out` of shape ``(stop - start, *columns)``.

        False, and nothing is read, where the format makes arrays of its own.
        """
        with self._unchanged():
            return self._into(out, start, stop, threads)

    def _whole(self, start: int, stop: int, threads: int) -> Any:
        """Read rows, all of them."""
        if (stop - start) * self.row_nbytes > MAX_NBYTES:
            raise MemoryError(f"{stop - start:,} rows are more than any memory holds")
        rows = self.read_rows(start, stop, threads)
        if not hasattr(rows, "shape"):
            wanted = "an array, sparse array or table is wanted"
            reason = f"its format reads rows as what is of type {type(rows).__name__}; {wanted}"
            raise FormatError(self.location.url, reason)
        if rows.shape[0] != stop - start:
            reason = (
                f"it has {rows.shape[0]:,} of rows {start:,} to {stop:,} (truncated, or damaged)"
            )
            raise FormatError(self.location.url, reason)
        check_rows(rows, self)
        return rows

    def _fill(self, start: int, stop: int) -> Any:
        return None

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        return False

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Raise `FileChangedError` if the file is another one than was opened, whatever was read.

        A store that is far away is asked afterwards only: that tells as well.
        """
        with telling(self.location.url):
            if self.location.path is not None:
                self.check()
            try:
                yield
            except Exception:
                self.check()
                raise
            self.check()

    def check(self) -> None:
        """Raise `FileChangedError` unless the file is the one that was opened."""
        found = self.location.stamp()
        if found != self.stamp:
            raise FileChangedError(self.location.url, "its size or time of change differs")

    @abstractmethod
    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read rows ``start:stop``, by at most so many threads: what a format implements.

        `read` calls it, and checks before and after that the file is the one that was opened.

        Returns
        -------
        array, sparse array or pyarrow.Table
            As `kind`, `columns` and `dtype` say, of ``stop - start`` rows.

        Raises
        ------
        FormatError
            When the rows are not what the format says.
        """

    def arrow_schema(self) -> Any:
        """Return the schema of a frame; where a format does not say it, that of no rows."""
        return self.read_rows(0, 0, 1).schema

    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the frame with some of its columns only, of which the file has all, in its order.

        Itself, where whole rows have to be read: the reader then drops the others.
        """
        return self

    def _with_columns(self, columns: tuple[str, ...], **changes: Any) -> Self:
        """Return the frame with some of its columns, each taken to be as large as any other."""
        share = len(columns) / max(len(self.columns), 1)
        return replace(self, columns=columns, row_nbytes=self.row_nbytes * share, **changes)

    def bounds(self, columns: Sequence[str]) -> list[Bounds]:
        """Return what the file says of some columns without reading them, for all of its rows.

        Nothing by default. Formats that have such statistics, and set `has_bounds`, give those of
        each unit, in order; rows of which a predicate can't be true are then not read.
        """
        return []

    def where(self, start: int, stop: int) -> list[str]:
        """Return what holds rows ``start:stop``, best first; empty if all workers are alike.

        Rows are taken to be of equal length, which is right to within a few of them.
        """
        each = self.nbytes / max(self.rows, 1)
        last = min(int(stop * each) + 1, self.nbytes)
        return self.location.hosts(int(start * each), last, self.stamp)

    def look_up(self) -> None:  # noqa: B027 (most have nothing to ask)
        """Have ready what `where` asks of the store, where that is more than one question."""
