"""Plans: what is to be done to tables, and what comes out of it, before a row is read."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from freestone.collections.tables.answering import answer
from freestone.collections.tables.computing import in_order
from freestone.collections.tables.drawing import draw
from freestone.collections.tables.expressions import each_expr, with_quantiles_of_days
from freestone.collections.tables.problems import explained, without_rows
from freestone.collections.tables.remembering import key_of, remembered

if TYPE_CHECKING:
    from polars.lazyframe.group_by import LazyGroupBy

    from freestone.collections.frame import Frame

__all__ = ["Leaf", "Node", "Op", "Slot", "apply", "build", "known_op", "leaves", "op"]


@dataclass(frozen=True, eq=False)
class Node:
    """A step of a plan.

    Attributes
    ----------
    empty : polars.DataFrame
        What comes out of it when nothing comes in: it has the columns and their types.
    """

    empty: pl.DataFrame

    @functools.cached_property
    def schema(self) -> pl.Schema:
        """The names and types of the columns."""
        return self.empty.schema

    def __getstate__(self) -> dict[str, Any]:
        # What is known by the other fields does not go along.
        return {name: value for name, value in vars(self).items() if name != "schema"}


@dataclass(frozen=True, eq=False)
class Leaf(Node):
    """The rows of a frame, which may be lazy itself.

    `is_shared` says that it was made for the plan, and goes with it.
    """

    frame: Frame
    is_shared: bool = False


@dataclass(frozen=True, eq=False)
class Slot(Node):
    """Rows that a call gets: number `index` of its inputs.

    `share` is how much of the bytes of what it gets is in these columns; `is_of_frame` says that
    these are blocks of a frame, which outlive the plan, and `is_named_by_content` that a block of
    the same name always has the same bytes.
    """

    index: int
    share: float = 1.0
    is_of_frame: bool = False
    is_named_by_content: bool = False


@dataclass(frozen=True, eq=False)
class Op(Node):
    """A method of polars' LazyFrame, of the first input; others go before its arguments."""

    method: str
    inputs: tuple[Node, ...]
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def input(self) -> Node:
        """The first, and mostly only, input."""
        return self.inputs[0]


def op(method: str, inputs: Sequence[Node], /, *args: Any, **options: Any) -> Op:
    """Make a step that a user asks for, and find out what comes out of it.

    Raises
    ------
    MissingColumnError, ColumnTypeError, ColumnClashError
        When it can't be done to such columns.
    """
    if method in ("select", "with_columns") and pl.Date in inputs[0].schema.values():
        exprs = list(each_expr(args, options))
        args, options = tuple(with_quantiles_of_days(inputs[0].empty, exprs)), {}

    def made() -> pl.DataFrame:
        frames = [node.empty.lazy() for node in inputs]
        return explained(functools.partial(apply, method, frames, args, options), method, inputs)

    empty = remembered(_key("op", method, inputs, args, options), made)
    return Op(empty, method, tuple(inputs), args, options)


def known_op(method: str, inputs: Sequence[Node], /, *args: Any, **options: Any) -> Op:
    """Make a step that follows from another one, which has been checked.

    Notes
    -----
    Takes a tenth of the time of `op`, which runs the step without rows.
    """

    def made() -> pl.DataFrame:
        lazy = apply(method, [node.empty.lazy() for node in inputs], args, options)
        return without_rows(lazy.collect_schema())

    empty = remembered(_key("known_op", method, inputs, args, options), made)
    return Op(empty, method, tuple(inputs), args, options)


def _key(
    kind: str,
    method: str,
    inputs: Sequence[Node],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Hashable | None:
    schemas = [node.schema for node in inputs]
    return key_of(kind, method, schemas, args, options)


def apply(
    method: str, frames: Sequence[pl.LazyFrame], args: tuple[Any, ...], options: dict[str, Any]
) -> pl.LazyFrame:
    """Do a step in polars."""
    if method == "group_by":
        keys, aggregates = args
        return frames[0].group_by(keys, **options).agg(aggregates)
    if method in ("group_by_dynamic", "rolling"):
        index, aggregates = args
        windows: LazyGroupBy = getattr(frames[0], method)(index, **options)
        return windows.agg(aggregates)
    if method == "concat":
        return pl.concat(frames, **options)
    if method == "sample":
        # Each part draws its own rows; of a table without rows there is nothing to draw.
        return frames[0]
    if method == "draw":
        return draw(in_order(frames[0]), in_order(frames[1]), **options).lazy()
    if method == "sql":
        query, tables = args
        return answer(query, tables, frames)
    found: pl.LazyFrame = getattr(frames[0], method)(*frames[1:], *args, **options)
    return found


def build(node: Node, tables: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Do all steps of a plan in polars, with `tables` for its slots."""
    if isinstance(node, Slot):
        return tables[node.index]
    assert isinstance(node, Op)
    inputs = [build(each, tables) for each in node.inputs]
    return apply(node.method, inputs, node.args, node.options)


def leaves(node: Node | None) -> Iterator[Leaf]:
    """Yield the frames that a plan is of."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Op):
        for each in node.inputs:
            yield from leaves(each)
