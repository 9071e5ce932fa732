"""Frames sorted by a column: rows of equal keys are together already, and are not moved.

Tables are often written in the order of a number or a time. Parts of such a frame have different
keys, but for one at each border; another frame sorted by the same key is cut at those borders, as
slices of its blocks. Then groups and joins by that key are made part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import polars as pl

from freestone.client import Client, gather
from freestone.collections.pieces import Piece, cut, future_of
from freestone.collections.tables.expressions import each_expr
from freestone.collections.tables.plan import Node, Op, Slot
from freestone.collections.tables.stages import Pieces, Stage

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["aligned", "disjoint"]

_KEEPING = {"drop", "drop_nans", "drop_nulls", "filter"}
"""Steps that leave columns and the order of rows as they are."""
_OF_LEFT = {"anti", "inner", "left", "semi"}
"""Joins whose parts have no other keys than those of the left table."""


@dataclass(frozen=True)
class _Order:
    """The keys of a block that is sorted by them: the ends, and how many rows have the first."""

    first: int
    last: int
    leading: int
    rows: int


@dataclass(frozen=True)
class _Column:
    """A column of a slot, which is a number of those of a stage."""

    place: int
    name: str
    dtype: pl.DataType

    def pieces(self, stage: Stage) -> Pieces:
        """Return what its slot holds in all parts."""
        return [piece for part in stage.parts for piece in part[self.place]]


_orders: WeakKeyDictionary[Any, dict[Any, _Order | None]] = WeakKeyDictionary()
_places: WeakKeyDictionary[Any, dict[Any, int]] = WeakKeyDictionary()
"""What was found out of blocks, which never change; for as long as somebody holds them."""


def disjoint(stage: Stage, keys: Sequence[pl.Expr]) -> Stage | None:
    """Return a stage with all rows of the same keys in one part, if it is sorted by one of them."""
    for key in keys:
        column = _sorted_column(stage, key)
        parts = None if column is None else _without_shared_keys(stage, column)
        if parts is not None:
            return replace(stage, parts=parts, is_done=stage.is_done and parts == stage.parts)
    return None


def aligned(
    left: Stage, right: Stage, keys: tuple[Sequence[pl.Expr], Sequence[pl.Expr]]
) -> tuple[Stage, Stage] | None:
    """Return two stages with rows of equal keys in parts of the same number, if both are sorted.

    Notes
    -----
    The larger one keeps its parts; the other is cut at their borders.
    """
    for pair in zip(*keys, strict=True):
        if not _same_type((left, right), pair):
            continue
        sides = sorted(
            ((left, pair[0]), (right, pair[1])),
            key=lambda side: (len(side[0].varying()), side[0].nbytes()),
        )
        (other, other_key), (larger, key) = sides
        kept = disjoint(larger, [key])
        if kept is None or len(other.varying()) != 1:
            continue
        moved = _cut_as(other, other_key, _borders(kept, key))
        if moved is not None:
            return (moved, kept) if other is left else (kept, moved)
    return None


def _same_type(sides: Sequence[Stage], keys: Sequence[pl.Expr]) -> bool:
    types = []
    for side, key in zip(sides, keys, strict=True):
        if not key.meta.is_column():
            return False
        types.append(side.plan.schema[key.meta.output_name()])
    return bool(types[0] == types[1])


def _sorted_column(stage: Stage, key: pl.Expr) -> _Column | None:
    """Return the column of a slot that a key is, if its rows in all parts are in order by it."""
    column = _column(stage, key)
    if column is None or column.place not in stage.varying():
        return None
    pieces = column.pieces(stage)
    orders = _orders_of(pieces, column, stage.client)
    for one, other in pairwise(orders):
        if one is None or other is None or one.last > other.first:
            return None
    return column


def _column(stage: Stage, key: pl.Expr) -> _Column | None:
    """Return the column of a frame that a key is."""
    found = _source(stage.plan, key.meta.output_name()) if key.meta.is_column() else None
    if found is None:
        return None
    slot, name = found
    dtype = slot.schema[name]
    if not (slot.is_of_frame and (dtype.is_integer() or dtype.is_temporal())):
        return None
    return _Column(stage.slots.index(slot), name, dtype)


def _source(node: Node, name: str) -> tuple[Slot, str] | None:
    """Return the slot and its column that a column of a plan is, in the order of its rows."""
    while isinstance(node, Op):
        column = _before(node, name)
        if column is None:
            return None
        node, name = node.input, column
    return (node, name) if isinstance(node, Slot) else None


def _before(step: Op, name: str) -> str | None:
    """Return the column of a step's first input that goes on as a column of a name."""
    if step.method in _KEEPING:
        return name
    if step.method == "join":
        is_left = name in step.input.schema and step.options["how"] in _OF_LEFT
        return name if is_left else None
    if step.method == "rename":
        olds = [old for old, new in step.args[0].items() if new == name]
        return olds[0] if olds else name
    if step.method not in ("group_by", "select", "with_columns"):
        return None
    if step.method == "group_by":
        exprs = list(each_expr(step.args[0]))
    else:
        exprs = list(each_expr(step.args, step.options))
    made = None
    for expr in exprs:
        if expr.meta.has_multiple_outputs():
            return None
        if expr.meta.output_name(raise_if_undetermined=False) == name:
            made = expr.meta.undo_aliases()
    if made is None:
        return name if step.method == "with_columns" else None
    return made.meta.output_name() if made.meta.is_column() else None


# -- what is known of blocks ----------------------------------------------------------------------


def _orders_of(pieces: Pieces, column: _Column, client: Client | None) -> list[_Order | None]:
    """Return the order of a column in each piece; asked where the blocks are, once."""
    wanted = [(piece, (column.name, column.dtype)) for piece in pieces]
    return _asked(_orders, _order, wanted, client)


def _asked(
    known: WeakKeyDictionary[Any, dict[Any, Any]],
    function: Callable[..., Any],
    wanted: list[tuple[Any, tuple[Any, ...]]],
    client: Client | None,
) -> list[Any]:
    """Return what a function gives for pieces and more arguments, asked if it is not known."""
    if client is None:
        return [function(piece, *more) for piece, more in wanted]
    keys = [(_rows(piece), more) for piece, more in wanted]
    held = [known.setdefault(future_of(piece), {}) for piece, _ in wanted]
    missing = [number for number, key in enumerate(keys) if key not in held[number]]
    if missing:
        calls = [(wanted[number][0], *wanted[number][1]) for number in missing]
        answers = gather(client.map(function, calls))
        for number, answer in zip(missing, answers, strict=True):
            held[number][keys[number]] = answer
    return [each[key] for each, key in zip(held, keys, strict=True)]


def _rows(piece: Any) -> tuple[int, int] | None:
    return (piece.start, piece.stop) if isinstance(piece, Piece) else None


def _numbers(table: pa.Table, column: str, dtype: pl.DataType) -> pl.Series:
    """Return a column as the numbers that stand for its values, whatever their unit of time."""
    found = pl.from_arrow(table.column(column), rechunk=False)
    assert isinstance(found, pl.Series)
    return found.cast(dtype).to_physical()


def _order(table: pa.Table, column: str, dtype: pl.DataType) -> _Order | None:
    """Return the order of a column, which must have values in all rows; None if it has none."""
    values = _numbers(table, column, dtype)
    if not len(values) or values.null_count() or not values.is_sorted():
        return None
    leading = values.search_sorted(values[0], side="right")
    return _Order(values[0], values[-1], int(leading), len(values))


def _place(table: pa.Table, column: str, dtype: pl.DataType, border: int) -> int:
    """Return how many rows of a sorted column are before a key."""
    return int(_numbers(table, column, dtype).search_sorted(border, side="left"))


# -- cutting --------------------------------------------------------------------------------------


def _without_shared_keys(stage: Stage, column: _Column) -> list[tuple[Pieces, ...]] | None:
    """Give the rows with which a part begins to the one before, if that ends with their key."""
    parts = [list(part) for part in stage.parts]
    place = column.place
    if not all(part[place] for part in parts):
        return None
    for before, after in pairwise(parts):
        first, *rest = after[place]
        one, other = _orders_of([before[place][-1], first], column, stage.client)
        if one is None or other is None:
            return None
        if one.last < other.first:
            continue
        if len(stage.varying()) > 1 or other.leading == other.rows:
            return None
        before[place] = [*before[place], cut(first, 0, other.leading)]
        after[place] = [cut(first, other.leading, other.rows), *rest]
    return [tuple(part) for part in parts]


def _borders(stage: Stage, key: pl.Expr) -> list[int]:
    """Return the first key of each part but the first."""
    column = _column(stage, key)
    if column is None:
        return []
    firsts = [part[column.place][0] for part in stage.parts[1:]]
    orders = _orders_of(firsts, column, stage.client)
    return [order.first for order in orders if order is not None]


def _cut_as(stage: Stage, key: pl.Expr, borders: list[int]) -> Stage | None:
    """Return a stage with the keys between the same two borders in a part, if it is sorted."""
    column = _sorted_column(stage, key)
    if column is None:
        return None
    pieces = column.pieces(stage)
    orders = _orders_of(pieces, column, stage.client)
    inside = [
        (piece, (column.name, column.dtype, border))
        for piece, order in zip(pieces, orders, strict=True)
        for border in borders
        if order is not None and order.first < border <= order.last
    ]
    places = iter(_asked(_places, _place, inside, stage.client))
    parts: list[Pieces] = [[] for _ in range(len(borders) + 1)]
    for piece, order in zip(pieces, orders, strict=True):
        assert order is not None  # or the column would not be sorted
        ends = [
            0 if border <= order.first else order.rows if border > order.last else next(places)
            for border in borders
        ]
        for part, (start, stop) in zip(parts, pairwise([0, *ends, order.rows]), strict=True):
            if start < stop:
                part.append(piece if stop - start == order.rows else cut(piece, start, stop))
    whole = stage.parts[0]
    cuts = [(*whole[: column.place], part, *whole[column.place + 1 :]) for part in parts]
    return replace(stage, parts=cuts, is_done=False)
