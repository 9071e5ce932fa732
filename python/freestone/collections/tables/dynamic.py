"""Groups of rows by windows of their times or numbers: ``group_by_dynamic``.

Where windows begin depends on the first row alone. So each part gets that row, and makes the
windows that begin between two values: of the rows between these and of those that follow, as far as
its windows reach. Windows that begin elsewhere are thrown away. Of rows that are grouped by other
keys, too, each group has a first row of its own: they are moved by the hash of these keys.
"""

from __future__ import annotations

import datetime
import re
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


@rule("group_by_dynamic")
def _group_by_dynamic(step: Op, needed: Columns) -> Stage:
    index, _ = step.args
    stage = lower_input(step, needed)
    keys = list(each_expr(step.options["group_by"] or []))
    if not (stage.is_one or is_row_wise(step.input.empty, [*keys, index])):
        stage = stage.one()
    if not stage.is_one and not keys:
        found = _in_windows(stage.done(), step)
        if found is not None:
            return found
    return _windows(by_keys(stage.done(), keys) if keys and not stage.is_one else stage.one(), step)


def _windows(stage: Stage, step: Op, **changed: Any) -> Stage:
    """Have polars make the windows of each part, whose rows it wants in order."""
    stage = stage.then("sort", [step.args[0]], maintain_order=True)
    return stage.then("group_by_dynamic", *step.args, **{**step.options, **changed})


def _in_windows(stage: Stage, step: Op) -> Stage | None:
    """Make the windows that begin between two values in each part; None if they are too long."""
    index, _ = step.args
    (dtype,) = step.input.empty.select(index).dtypes
    reach = _reach(step.options["period"] or step.options["every"], dtype)
    parts = LIMITS.parts(stage.nbytes(), stage.client)
    has_bounds = step.options["include_boundaries"]
    if reach is None or parts == 1 or (_BEGIN in step.schema and not has_bounds):
        return None
    key = index.to_physical().cast(pl.Int64)
    values = samples_of(stage, key).sort()
    cuts = _apart(between(values, parts).to_list(), reach) if len(values) else []
    if not cuts:
        return None
    ranged = cut(stage, ByReach(key, tuple(cuts), reach, values[0]))
    made = _windows(ranged, step, include_boundaries=True)
    begin = pl.col(_BEGIN).cast(dtype).to_physical().cast(pl.Int64)
    blocks = made.blocks(ByRange(begin, pl.Series(cuts), descending=False, nulls_last=False))
    own = [[found[number]] for number, found in enumerate(blocks)]
    kept = Stage.of(own, made.plan.empty, stage.client)
    return kept if has_bounds else kept.then("select", list(step.schema))


def _apart(cuts: list[int], reach: int) -> list[int]:
    """Leave out cuts so that windows reach into the next part, and no further."""
    kept: list[int] = []
    for each in cuts:
        if not kept or each - kept[-1] >= reach:
            kept.append(each)
    return kept


def _reach(period: str | datetime.timedelta, dtype: pl.DataType) -> int | None:
    """Return the most by which numbers in a window can be larger than where it begins.

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


def _nanoseconds(period: str | datetime.timedelta) -> int | None:
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
