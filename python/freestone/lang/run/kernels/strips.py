"""Strips of rows: what makes, reads and writes some rows of a matrix, and what runs on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freestone.errors.lang import ScriptRunError
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES, Type
from freestone.lang.run.kernels import generation
from freestone.lang.run.kernels.aggregates import accumulated, check_cells, places_of, reduced
from freestone.lang.run.kernels.draws import Draws
from freestone.lang.run.kernels.memory import empty
from freestone.lang.run.kernels.other import distinct_of
from freestone.lang.run.kernels.output import stream_of
from freestone.lang.run.kernels.products import sum_of
from freestone.lang.run.kernels.shapes import sides_of
from freestone.lang.run.kernels.sparse import Csr

Array = np.ndarray[Any, Any]
MERGES: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class Strip:
    """Rows ``start:stop`` of so many in all.

    Attributes
    ----------
    kept : dict
        What operations keep from strip to strip: open files, random numbers.
    """

    start: int
    stop: int
    rows: int
    kept: dict[Op, Any]

    @property
    def count(self) -> int:
        """How many rows these are."""
        return self.stop - self.start

    def of(self, op: Op) -> Strip:
        """Return the strip of a matrix with more rows: the same share of them."""
        times = op.attrs["times"]
        start, stop, rows = (times * each for each in (self.start, self.stop, self.rows))
        return replace(self, start=start, stop=stop, rows=rows)


@dataclass(frozen=True)
class Placed:
    """Some rows of a result, and which of so many in all they are."""

    count: int
    places: slice | Array
    rows: Array


@dataclass(frozen=True)
class First:
    """The least, or greatest, cell of each column in some rows, and where the first such is."""

    name: str
    places: Array
    cells: Array

    def or_of(self, later: First) -> First:
        """Take those of later rows where they are less, or greater; NaN is both."""
        better = later.cells < self.cells if self.name == "min" else later.cells > self.cells
        if self.cells.dtype.kind == "f":
            better |= np.isnan(later.cells)
            better &= ~np.isnan(self.cells)
        return First(
            self.name,
            np.where(better, later.places, self.places),
            np.where(better, later.cells, self.cells),
        )


@dataclass(frozen=True)
class Distinct:
    """The distinct cells of a column's rows, sorted or in the order in which they come."""

    cells: Array
    ordered: bool

    def or_of(self, later: Distinct) -> Distinct:
        """Add those of later rows."""
        both = np.concatenate([self.cells, later.cells])
        return Distinct(distinct_of(both, self.ordered), self.ordered)


def strip_by_strip(run: Any, op: Op, values: dict[Any, Any]) -> list[Any]:
    """Run a block for each strip, and combine what it gives."""
    try:
        return _combined(run, op, values)
    except ScriptRunError:
        _find_first_failure(run, op, values)
        raise


def _find_first_failure(run: Any, op: Op, values: dict[Any, Any]) -> None:
    """Raise what fails first when operations run one after the other, each on all rows.

    Among strips it may be a later operation that fails, if it fails in an earlier strip. So all
    strips run again, each up to what has failed so far, without what is seen from outside.
    """
    ops = [inner for each in op.regions[0].ops for inner in _unfused(each) if inner.pure]
    found = None
    for strip in _strips_of(op, {}):
        here = {**values, op.regions[0].args[0]: strip}
        for at, each in enumerate(ops):
            try:
                run.step(each, here)
            except ScriptRunError as error:
                found, ops = error, ops[:at]
                break
    if found is not None:
        raise found


def _unfused(op: Op) -> list[Op]:
    return op.regions[0].ops if op.kind == "pipeline" else [op]


def _strips_of(op: Op, kept: dict[Op, Any]) -> Iterator[Strip]:
    total, size = op.attrs["rows"], op.attrs["size"]
    for start in range(0, total, size):
        yield Strip(start, min(start + size, total), total, kept)


def _combined(run: Any, op: Op, values: dict[Any, Any]) -> list[Any]:
    body = op.regions[0]
    kept: dict[Op, Any] = {}
    joins = [
        _Join(run, way, result.type)
        for way, result in zip(op.attrs["ways"], op.results, strict=True)
    ]
    try:
        for strip in _strips_of(op, kept):
            # What a strip makes goes with it.
            parts = run.block(body, {**values, body.args[0]: strip})
            for join, part in zip(joins, parts, strict=True):
                join.add(strip, part)
            del parts
        for key in list(kept):
            if hasattr(kept[key], "finish"):
                kept[key].finish()
                del kept[key]
    except BaseException:
        for each in kept.values():
            if hasattr(each, "abandon"):
                each.abandon()
        raise
    return [join.whole() for join in joins]


class _Join:
    """Makes one value of those of all strips."""

    def __init__(self, run: Any, way: str, type: Type) -> None:
        self._run, self._way, self._type = run, way, type
        self._whole: Any = None

    def add(self, strip: Strip, part: Any) -> None:
        if part is None:
            # Of no rows at all.
            return
        if self._way in ("first", "distinct"):
            self._whole = part if self._whole is None else self._whole.or_of(part)
            return
        if self._way == "sum" and isinstance(part, Csr):
            self._whole = part if self._whole is None else sum_of(self._whole, part)
            return
        if self._way == "kept" or isinstance(part, Csr):
            self._whole = [*(self._whole or []), part]
            return
        if self._way == "rows":
            times = (self._type.rows or 0) // strip.rows
            places = slice(times * strip.start, times * strip.stop)
            self._put(times * strip.rows, places, part)
            return
        if self._way == "placed":
            self._put(part.count, part.places, part.rows)
            return
        renewed = np.asarray(part, DTYPES[self._type.cell]).reshape(np.shape(part) or (1,))
        with np.errstate(all="ignore"):
            merge = MERGES[self._way]
            self._whole = renewed if self._whole is None else merge(self._whole, renewed)

    def _put(self, count: int, places: slice | Array, rows: Array) -> None:
        if self._whole is None:
            self._whole = empty(self._run, (count, rows.shape[1]), rows.dtype)
        self._whole[places] = rows

    def whole(self) -> Any:
        if isinstance(self._whole, list):
            return _joined(self._whole)
        if self._way == "first":
            return self._whole.places.reshape(1, -1)
        if self._way == "distinct":
            return self._whole.cells.astype(DTYPES[self._type.cell])
        return self._whole.item() if self._type.data == "scalar" else self._whole


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], Csr):
        return Csr.joined(parts)
    return np.concatenate(parts)


def rows(run: Any, op: Op, strip: Strip, *operands: Any) -> Any:
    """Make the rows of a strip as an operation makes all of them, or take them of what is there."""
    return _MAKERS[op.attrs["name"]](run, op, strip.of(op), *operands)


def reshape_rows(run: Any, op: Op, value: Array, rows: Any, columns: Any) -> Array:
    """Give the cells of a strip another shape."""
    return value.reshape(-1, int(columns))


def cumulate_rows(run: Any, op: Op, strip: Strip, value: Array) -> Array:
    """Aggregate each column from the first row of the first strip to every row of this one."""
    made = accumulated(op.attrs["of"], value, strip.kept.get(op))
    if len(made):
        strip.kept[op] = made[-1:].copy()
    return made


def chosen_rows(run: Any, op: Op, strip: Strip, value: Array, *sides: Any) -> Placed:
    """Take those rows of a strip that an index chooses, and tell where they go."""
    own = strip.of(op)
    if op not in strip.kept:
        strip.kept[op] = _Chosen(op, (own.rows, value.shape[1]), sides)
    chosen: _Chosen = strip.kept[op]
    return chosen.of(own, value)


class _Chosen:
    """The rows and columns that an index chooses, ready for strips of what it chooses from."""

    def __init__(self, op: Op, shape: tuple[int, int], sides: tuple[Any, ...]) -> None:
        rows, self._columns = sides_of(op, shape, sides)
        self._order: Array | None = None
        if isinstance(rows, slice):
            self._first, self._last = rows.indices(shape[0])[:2]
            self._count = self._last - self._first
        else:
            self._order = np.argsort(rows, kind="stable")
            self._sorted = rows[self._order]
            self._count = len(rows)

    def of(self, strip: Strip, value: Array) -> Placed:
        """Take those of a strip."""
        places: slice | Array
        taken: slice | Array
        if self._order is None:
            ends = (self._first, self._last)
            begin, end = (min(max(each, strip.start), strip.stop) for each in ends)
            places = slice(begin - self._first, end - self._first)
            taken = slice(begin - strip.start, end - strip.start)
        else:
            low, high = np.searchsorted(self._sorted, [strip.start, strip.stop])
            places = self._order[low:high]
            taken = self._sorted[low:high] - strip.start
        return Placed(self._count, places, value[taken][:, self._columns])


def mirrored(run: Any, op: Op, strip: Strip) -> Strip:
    """Return the strip that lies as far from the last row as this one from the first."""
    return replace(strip, start=strip.rows - strip.stop, stop=strip.rows - strip.start)


def part(run: Any, op: Op, strip: Strip) -> Strip:
    """Return what a strip has of some rows among its own; none, if it lies elsewhere."""
    begin, rows = op.attrs["begin"], op.attrs["rows"]
    start, stop = (min(max(at - begin, 0), rows) for at in (strip.start, strip.stop))
    return replace(strip, start=start, stop=stop, rows=rows)


def first_places(run: Any, op: Op, strip: Strip, value: Array) -> First | None:
    """Tell where in its column the least or greatest cell is, counted from the first strip."""
    name, before = op.attrs["of"], strip.kept.get(op, 0)
    strip.kept[op] = before + len(value)
    if not len(value):
        _check_last(name, strip, before)
        return None
    places = places_of(name, value, 0)
    return First(name, places + np.uint64(before), value[places, np.arange(value.shape[1])])


def distinct_in_strip(run: Any, op: Op, value: Array, ordered: Any) -> Distinct:
    """Return the distinct cells of a strip."""
    return Distinct(distinct_of(value, ordered), bool(ordered))


def extremes_of_kept(run: Any, op: Op, strip: Strip, value: Array) -> Any:
    """Aggregate what a filter kept of a strip: to one number, or each column."""
    name, before = op.attrs["of"], strip.kept.get(op, 0)
    strip.kept[op] = before + len(value)
    if not len(value):
        _check_last(name, strip, before)
        return None
    cell = op.results[0].type.cell
    if op.attrs["name"] == "agg_all":
        return reduced(name, value, cell, None)
    return reduced(name, value, cell, 0).reshape(1, -1)


def _check_last(name: str, strip: Strip, seen: int) -> None:
    if strip.stop == strip.rows:
        check_cells(name, seen)


def append_rows(run: Any, op: Op, strip: Strip, value: Any, path: str) -> None:
    """Write the rows of a strip behind those of the one before."""
    from freestone.lang.run.kernels.row_files import RowWriter

    if op not in strip.kept:
        shape = strip.of(op).rows, value.shape[1]
        strip.kept[op] = RowWriter(path, value.dtype.str, shape)
    strip.kept[op].append(value)


def print_rows(
    run: Any, op: Op, strip: Strip, value: Any, newline: Any = True, err: Any = False
) -> None:
    """Print the rows of a strip behind those of the one before."""
    from freestone.lang.run.kernels.row_files import RowCollector, RowPrinter

    if op not in strip.kept:
        if run.printed is not None and not err:
            strip.kept[op] = RowCollector(run.printed)
        else:
            strip.kept[op] = RowPrinter(stream_of(run, err), op.operands[1].type.cell)
    strip.kept[op].append(value)


def _of(run: Any, op: Op, strip: Strip, value: Any) -> Any:
    if value.shape[0] != strip.rows:
        raise ValueError(f"a matrix of {value.shape[0]} rows among others of {strip.rows}")
    if hasattr(value, "tocsr"):
        # COO matrices have no rows to be cut.
        value = strip.kept.setdefault(op, value.tocsr())
    if isinstance(value, Csr):
        return value.rows(strip.start, strip.stop)
    return value[strip.start : strip.stop]


def _given(run: Any, op: Op, strip: Strip) -> Any:
    return _of(run, op, strip, run.given[op.attrs["slot"]])


def _fill(run: Any, op: Op, strip: Strip, value: Any, rows: Any, columns: Any) -> Array:
    return generation.fill(run, op, value, strip.count, columns)


def _seq(run: Any, op: Op, strip: Strip, begin: Any, end: Any, step: Any) -> Array:
    return generation.seq_rows(op, begin, step, strip.start, strip.stop)


def _rand(run: Any, op: Op, strip: Strip, rows: Any, columns: Any, *how: Any) -> Any:
    if op not in strip.kept:
        strip.kept[op] = Draws(op, (int(rows), int(columns)), how)
    return strip.kept[op].rows(run, strip.start, strip.stop)


def _read(run: Any, op: Op, strip: Strip, path: str) -> Array:
    from freestone.lang.run.kernels.row_files import RowReader

    if op not in strip.kept:
        strip.kept[op] = RowReader(path, op.results[0].type.cell)
    return np.asarray(strip.kept[op].rows(strip.start, strip.stop))


_MAKERS: dict[str, Callable[..., Any]] = {
    "of": _of,
    "given": _given,
    "fill": _fill,
    "seq": _seq,
    "rand": _rand,
    "read": _read,
}
