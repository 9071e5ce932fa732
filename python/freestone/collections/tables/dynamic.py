"""Groups of rows by windows of their times or numbers: ``group_by_dynamic`` and ``rolling``.

Where windows of ``group_by_dynamic`` begin depends on the first row alone. So each part gets that
row, and makes the windows that begin between two values: of the rows between these and of those
that follow, as far as its windows reach. Windows that begin elsewhere are thrown away.

``rolling`` makes a window for each row. A part makes those of the rows between two values, of these
rows and of those around them that the windows reach; what it makes for the others is thrown away.

Of rows that are grouped by other keys, too, each group has its own windows: rows are moved by the
hash of these keys.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.calls import ByRange, ByReach
from freestone.collections.tables.expressions import each_expr, is_row_wise
from freestone.collections.tables.grouping import by_keys
from freestone.collections.tables.lowering import LIMITS, cut, lower_input, rule
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.ordering import between, samples_of
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__: list[str] = []

_BEGIN = "_lower_boundary"
"""What polars calls the column of where windows begin."""
_NS_OF_UNITS = {
    **{"ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9},
    "h": 3600 * 10**9,
}
_DAYS_OF_UNITS = {"d": 1, "w": 7, "mo": 31, "q": 92, "y": 366}
"""The length of what polars' durations are made of; at most."""
_NS_OF_DAY = 24 * 3600 * 10**9
_Duration = str | datetime.timedelta


@rule("group_by_dynamic")
def _group_by_dynamic(step: Op, needed: Columns) -> Stage:
    return _of_windows(step, needed, _beginning_between)


@rule("rolling")
def _rolling(step: Op, needed: Columns) -> Stage:
    return _of_windows(step, needed, _of_rows_between)


def _of_windows(step: Op, needed: Columns, by_parts: Callable[[Stage, Op], Stage | None]) -> Stage:
    """Make windows by parts of the index, or of what they are grouped by; or else by one call."""
    index, _ = step.args
    stage = lower_input(step, needed)
    keys = list(each_expr(step.options["group_by"] or []))
    if not (stage.is_one or is_row_wise(step.input.empty, [*keys, index])):
        stage = stage.one()
    if not stage.is_one and not keys:
        found = by_parts(stage.done(), step)
        if found is not None:
            return found
    return _windows(by_keys(stage.done(), keys) if keys and not stage.is_one else stage.one(), step)


def _windows(stage: Stage, step: Op, **changed: Any) -> Stage:
    """Have polars make the windows of each part, whose rows it wants in order."""
    stage = stage.then("sort", [step.args[0]], maintain_order=True)
    return stage.then(step.method, *step.args, **{**step.options, **changed})


def _beginning_between(stage: Stage, step: Op) -> Stage | None:
    """Make the windows that begin between two values in each part; None if they are too long."""
    index, _ = step.args
    (dtype,) = step.input.empty.select(index).dtypes
    reach = _reach(step.options["period"] or step.options["every"], dtype)
    has_bounds = step.options["include_boundaries"]
    if reach is None or (_BEGIN in step.schema and not has_bounds):
        return None
    key, values, cuts = _cuts(stage, index, reach)
    if not cuts:
        return None
    ranged = cut(stage, ByReach(key, cuts, 0, reach, values[0]))
    made = _windows(ranged, step, include_boundaries=True)
    kept = _between(made, pl.col(_BEGIN).cast(dtype), cuts)
    return kept if has_bounds else kept.then("select", list(step.schema))


def _of_rows_between(stage: Stage, step: Op) -> Stage | None:
    """Make the windows of the rows between two values in each part; None if they are too long."""
    index, _ = step.args
    (dtype,) = step.input.empty.select(index).dtypes
    reaches = _reaches(step.options["period"], step.options["offset"], dtype)
    if reaches is None:
        return None
    key, _, cuts = _cuts(stage, index, sum(reaches))
    if not cuts:
        return None
    made = _windows(cut(stage, ByReach(key, cuts, *reaches)), step)
    return _between(made, pl.col(index.meta.output_name()), cuts)


def _cuts(stage: Stage, index: pl.Expr, reach: int) -> tuple[pl.Expr, pl.Series, tuple[int, ...]]:
    """Return the number by which rows are cut, a sample of it in order, and where they are."""
    key = index.to_physical().cast(pl.Int64)
    parts = LIMITS.parts(stage.nbytes(), stage.client)
    if parts == 1:
        return key, pl.Series(dtype=pl.Int64), ()
    values = samples_of(stage, key).sort()
    cuts = between(values, parts).to_list() if len(values) else []
    return key, values, tuple(_apart(cuts, reach))


def _between(stage: Stage, column: pl.Expr, cuts: Sequence[int]) -> Stage:
    """Leave out of each part what is not between its cuts, by a column of what it makes."""
    key = column.to_physical().cast(pl.Int64)
    blocks = stage.blocks(ByRange(key, pl.Series(cuts), descending=False, nulls_last=False))
    own = [[found[number]] for number, found in enumerate(blocks)]
    return Stage.of(own, stage.plan.empty, stage.client)


def _apart(cuts: list[int], reach: int) -> list[int]:
    """Leave out cuts so that windows reach into the next part, and no further."""
    kept: list[int] = []
    for each in cuts:
        if not kept or each - kept[-1] >= reach:
            kept.append(each)
    return kept


def _reaches(
    period: _Duration, offset: _Duration | None, dtype: pl.DataType
) -> tuple[int, int] | None:
    """Return how far windows that begin `offset` from their rows reach before and behind these.

    At most; None if it is not known. Without an offset windows end at their rows.
    """
    moved, is_back = _unsigned(period if offset is None else offset)
    is_back = is_back or offset is None
    far, length = _reach(moved, dtype), _reach(period, dtype)
    # Of what rounds times, or moves clocks, a row's own time may be before or behind it.
    own = _reach("0i" if dtype.is_integer() else "0h", dtype)
    if far is None or length is None or own is None:
        return None
    if is_back:
        return far, own if offset is None else length
    return own, far + length


def _unsigned(offset: _Duration) -> tuple[_Duration, bool]:
    """Return a duration without its sign, and whether it is negative."""
    if isinstance(offset, str):
        return offset.lstrip("+-"), offset.startswith("-")
    return abs(offset), offset < datetime.timedelta(0)


def _reach(period: _Duration, dtype: pl.DataType) -> int | None:
    """Return the most by which numbers that are a duration apart, or less, can differ.

    The numbers are those that stand for times, if the index is of these. None if it is not known.
    """
    if dtype.is_integer():
        found = re.fullmatch(r"(\d+)i", str(period))
        return None if found is None else int(found[1])
    length = _nanoseconds(period)
    if length is None:
        return None
    if dtype == pl.Date:
        # A window may begin within a day.
        return -(-length // _NS_OF_DAY) + 1
    if not isinstance(dtype, pl.Datetime):
        return None
    if dtype.time_zone not in (None, "UTC"):
        # Days may have more than 24 hours, and whole days may be missing.
        length += 2 * _NS_OF_DAY
    return -(-length // _NS_OF_UNITS[dtype.time_unit])


def _nanoseconds(period: _Duration) -> int | None:
    """Return the most nanoseconds that a duration has; None if it isn't known."""
    if isinstance(period, datetime.timedelta):
        return period // datetime.timedelta(microseconds=1) * 1000
    items = re.findall(r"(\d+)([^\d]+)", period)
    if "".join(map("".join, items)) != period:
        return None
    total = 0
    for count, unit in items:
        nanoseconds = _NS_OF_UNITS.get(unit) or _DAYS_OF_UNITS.get(unit, 0) * _NS_OF_DAY
        if not nanoseconds:
            return None
        total += int(count) * nanoseconds
    return total
