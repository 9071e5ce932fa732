"""What workers do: a plan on some tables, in one call of polars."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import repeat
from operator import xor
from typing import TYPE_CHECKING, Any

import polars as pl

from freestone import _native
from freestone.collections.compacting import compacted
from freestone.collections.tables.computing import in_order
from freestone.collections.tables.guarding import check_joins
from freestone.collections.tables.naming import from_arrow
from freestone.collections.tables.plan import Node, Op, Slot, build
from freestone.collections.tables.problems import refuse_names
from freestone.collections.tables.remembering import is_plain, key_of, remembered
from freestone.collections.tables.views import viewed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ByHash",
    "ByRange",
    "ByReach",
    "ByRow",
    "Cutting",
    "Whole",
    "made",
    "run",
    "sampled",
    "schema_of",
    "to_arrow",
    "to_polars",
]

_OLDEST = pl.CompatLevel.oldest()
_MIN_CHUNK_ROWS = 1 << 16
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
MAX_SAMPLES = 256


@dataclass(frozen=True)
class Whole:
    """All rows are one block."""

    parts = 1

    def cut(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the table."""
        yield frame


@dataclass(frozen=True)
class ByHash:
    """Rows whose keys are equal are in the same of some blocks.

    Attributes
    ----------
    keys : tuple of polars.Expr
        The keys.
    types : tuple
        The types as which they are compared, if those are not their own.
    parts : int
        How many blocks there are.
    """

    keys: tuple[pl.Expr, ...]
    types: tuple[Any, ...]
    parts: int

    def cut(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows of each block, in their order."""
        named = [key.alias(f"{place}") for place, key in enumerate(self.keys)]
        keys = frame.select(named)
        keys = keys.cast(dict(zip(keys.columns, self.types, strict=True)))
        hashes = keys.select(
            # The seeds keep (a, b) apart from (b, a).
            pl.nth(place).hash(place)
            for place in range(keys.width)
        )
        part = reduce(xor, hashes.get_columns()) % self.parts
        for number in range(self.parts):
            yield frame.filter(part == number)


@dataclass(frozen=True)
class ByRange:
    """Rows between the same two keys are in the same block; the blocks are in order.

    Attributes
    ----------
    key : polars.Expr
        By what rows are sorted first.
    cuts : polars.Series
        The keys at which a new block begins, in order.
    descending, nulls_last : bool
        As for `sort`.
    """

    key: pl.Expr
    cuts: pl.Series
    descending: bool
    nulls_last: bool

    @property
    def parts(self) -> int:
        """How many blocks there are."""
        return len(self.cuts) + 1

    def cut(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows of each block, in their order."""
        keys = frame.select(self.key).to_series()
        part = self.cuts.search_sorted(keys, side="left", descending=self.descending)
        nulls = self.parts - 1 if self.nulls_last else 0
        place = pl.when(keys.is_not_null()).then(part).otherwise(nulls)
        numbers = pl.select(place).to_series() if len(keys) else part
        for number in range(self.parts):
            yield frame.filter(numbers == number)


@dataclass(frozen=True)
class ByReach:
    """Rows between two numbers are in a block, with those around them that windows reach.

    Attributes
    ----------
    key : polars.Expr
        The number, or what stands for the time, by which rows are cut.
    cuts : tuple of int
        The largest number of each block but the last one.
    before, behind : int
        How much smaller and larger the numbers in a window may be than what it is made for.
    first : int or None
        The number of the rows of which each block gets one; none if no block needs it.
    """

    key: pl.Expr
    cuts: tuple[int, ...]
    before: int
    behind: int
    first: int | None = None

    @property
    def parts(self) -> int:
        """How many blocks there are."""
        return len(self.cuts) + 1

    def cut(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows of each block, in their order; nulls, which polars refuses, in all."""
        keys = frame.select(self.key).to_series()
        leading = keys.is_first_distinct() & keys.eq_missing(self.first)
        starts = [_MIN_INT64, *(max(each + 1 - self.before, _MIN_INT64) for each in self.cuts)]
        ends = [*(min(each + self.behind, _MAX_INT64) for each in self.cuts), _MAX_INT64]
        for start, end in zip(starts, ends, strict=True):
            yield frame.filter(keys.is_between(start, end).fill_null(True) | leading)


@dataclass(frozen=True)
class ByRow:
    """Each row is a block.

    Attributes
    ----------
    parts : int
        How many rows there are.
    """

    parts: int

    def cut(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows."""
        for number in range(self.parts):
            yield frame[number : number + 1]


Cutting = Whole | ByHash | ByRange | ByReach | ByRow


def run(plan: bytes, counts: Sequence[int], names: Sequence[str], *tables: Any) -> Any:
    """Do a plan to tables and return blocks, as many as it is to be cut into.

    Parameters
    ----------
    plan
        A pickled pair: the plan, and how the result is cut into blocks.
    counts
        How many of the tables are the rows of each slot.
    names
        What each table is called if a name stands for its content; else nothing.
    tables
        Arrow tables.
    """
    node, slots, cutting = _read_once(plan) if is_plain(plan) else pickle.loads(plan)
    frames, first = list[pl.DataFrame](), 0
    for slot, count in zip(slots, counts, strict=True):
        own = slice(first, first + count)
        frames.append(to_polars(tables[own], slot, names[own]))
        first += count
    found = made(node, frames)
    blocks = [_native.blocks.Stored(to_arrow(part)) for part in cutting.cut(found)]
    return blocks[0] if len(blocks) == 1 else tuple(blocks)


@functools.lru_cache(64)
def _read_once(plan: bytes) -> Any:
    """Read a plan that is asked for again and again, in which no function has values of its own."""
    return pickle.loads(plan)


def made(node: Node, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Do a plan to tables: one for each of its slots."""
    return _made(_with_sides_made(node, frames), frames)


def _made(node: Node, frames: list[pl.DataFrame]) -> pl.DataFrame:
    check_joins(node, frames)
    return in_order(build(node, [frame.lazy() for frame in frames]))


def _with_sides_made(node: Node, frames: list[pl.DataFrame]) -> Node:
    """Make the small tables of joins that a plan has marked by `cache`, and add them to frames.

    The plan that is left has slots for them. How large a join may become is found out by the rows
    that it joins.
    """
    if not isinstance(node, Op):
        return node
    node = replace(node, inputs=tuple(_with_sides_made(each, frames) for each in node.inputs))
    if node.method != "cache":
        return node
    frames.append(_made(node.input, frames))
    return Slot(node.empty, len(frames) - 1)


def sampled(keys: pl.DataFrame) -> pl.DataFrame:
    """Return values of a column without nulls, evenly spaced in the order of their size."""
    values = keys.to_series().drop_nulls().sort()
    return values.gather_every(len(values) // MAX_SAMPLES + 1).to_frame()


def to_polars(tables: Sequence[pa.Table], slot: Node, contents: Sequence[str] = ()) -> pl.DataFrame:
    """Return Arrow tables as one of polars', of the columns and types that a plan expects.

    `contents` has the names of those whose names stand for their content.
    """
    names = list(slot.schema)
    if not names:
        # A table without columns still has rows, which polars counts by a column.
        names = tables[0].column_names[:1] if tables else []
    frames = []
    for table, content in zip(tables, contents or repeat(""), strict=False):
        frame = from_arrow(viewed(table.select(names), content), rechunk=False)
        differing = {
            name: dtype for name, dtype in slot.schema.items() if frame.schema[name] != dtype
        }
        frames.append(frame.cast(differing) if differing else frame)
    if not frames:
        return slot.empty
    return pl.concat(frames, rechunk=False) if len(frames) > 1 else frames[0]


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Return a table as Arrow's, over buffers that hold its rows and no others.

    Notes
    -----
    Text becomes ``large_string``: a view of text would keep the text of rows that are gone.
    """
    if frame.width and frame.n_chunks() > 1 and len(frame) < frame.n_chunks() * _MIN_CHUNK_ROWS:
        frame = frame.rechunk()
    refuse_names(frame.columns)
    if pl.Object in frame.dtypes:
        # Arrow would get the addresses of what only this process has.
        _refuse_objects(frame)
    try:
        table = frame.to_arrow(compat_level=_OLDEST)
    except ValueError:
        _name_types_without_form(frame)
        raise
    return compacted(table)


def schema_of(empty: pl.DataFrame) -> pa.Schema:
    """Return the schema of the blocks that a table without rows stands for."""
    found: pa.Schema = remembered(key_of("schema", empty.schema), lambda: to_arrow(empty).schema)
    return found


def _refuse_objects(frame: pl.DataFrame) -> None:
    name = frame.columns[frame.dtypes.index(pl.Object())]
    raise TypeError(
        f"column {name!r} is of polars' type Object, any Python objects, for which Arrow has none; "
        "make it a type of polars', or leave it out"
    )


def _name_types_without_form(frame: pl.DataFrame) -> None:
    """Raise the error for the first column that Arrow has no type for, as for 128 bits."""
    for name, dtype in frame.schema.items():
        try:
            frame.head(0).select(name).to_arrow(compat_level=_OLDEST)
        except ValueError:
            raise TypeError(
                f"column {name!r} is of polars' type {dtype}, for which Arrow has none; cast it, "
                "to pl.Decimal(38, 0) for instance"
            ) from None
