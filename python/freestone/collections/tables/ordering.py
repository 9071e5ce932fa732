"""Sorts by sampling, first and last rows, rows without their duplicates."""

from __future__ import annotations

from typing import Any

import polars as pl

from freestone.collections.pieces import value_of
from freestone.collections.tables.calls import ByRange, sampled, to_polars
from freestone.collections.tables.expressions import is_row_wise
from freestone.collections.tables.lowering import (
    LIMITS,
    cut,
    lower_input,
    may_hash,
    rule,
    shuffled,
    unwrapped,
)
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__ = ["between", "borders", "in_ranges", "may_cut", "samples_of"]


@rule("sort")
def _sort(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed)
    key, *_ = step.args[0]
    empty = step.input.empty
    if stage.is_one or not (is_row_wise(empty, [key]) and may_cut(empty, key)):
        return stage.one().then("sort", *step.args, **step.options)
    stage = stage.done()
    options = {name: _first(step.options[name]) for name in ("descending", "nulls_last")}
    ranged = in_ranges(stage, key, **options) or stage.one()
    return ranged.then("sort", *step.args, **step.options)


def in_ranges(stage: Stage, key: pl.Expr, *, descending: bool, nulls_last: bool) -> Stage | None:
    """Return parts that are in order, each with the rows between two keys.

    None if they are few, or can't be cut by such keys.
    """
    if not may_cut(stage.plan.empty, key):
        return None
    parts = LIMITS.parts(stage.nbytes(), stage.client)
    cuts = borders(stage, key, parts, descending=descending) if parts > 1 else None
    return None if cuts is None else cut(stage, ByRange(key, cuts, descending, nulls_last))


def _first(value: Any) -> bool:
    return bool(value[0] if isinstance(value, list | tuple) else value)


def may_cut(empty: pl.DataFrame, key: pl.Expr) -> bool:
    """Tell whether rows can be cut by a key's values."""
    (dtype,) = empty.lazy().select(key).collect_schema().dtypes()
    return bool(dtype.is_integer() or dtype.is_float() or dtype.is_temporal() or dtype == pl.String)


def borders(stage: Stage, key: pl.Expr, parts: int, *, descending: bool) -> pl.Series | None:
    """Return the keys at which a part of a sorted table begins, so that all are about as large."""
    values = samples_of(stage, key).sort(descending=descending)
    return between(values, parts) if len(values) else None


def samples_of(stage: Stage, key: pl.Expr) -> pl.Series:
    """Return some keys of each part, among them its smallest one."""
    samples = stage.then("select", key).then("map_batches", sampled)
    tables = [value_of(block) for (block,) in samples.blocks()]
    return to_polars(tables, samples.plan).to_series()


def between(values: pl.Series, parts: int) -> pl.Series:
    """Return those of sorted keys that cut them into parts of about the same length."""
    places = [len(values) * place // parts for place in range(1, parts)]
    return values.gather(places).unique(maintain_order=True)


@rule("head")
def _head(step: Op, needed: Columns) -> Stage:
    sort = unwrapped(step.input)
    if isinstance(sort, Op) and sort.method == "sort":
        stage = lower_input(sort, needed)
        if not stage.is_one:
            stage = stage.then("sort", *sort.args, **sort.options).then("head", *step.args).one()
        stage = stage.then("sort", *sort.args, **sort.options)
        return stage.then("head", *step.args)
    return _ends(step, needed)


@rule("tail")
def _ends(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed)
    if not stage.is_one:
        stage = stage.then(step.method, *step.args).one()
    return stage.then(step.method, *step.args)


@rule("slice")
def _slice(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed)
    offset, length = step.args
    if not stage.is_one:
        if offset >= 0 and length is not None:
            stage = stage.then("head", offset + length)
        stage = stage.one()
    return stage.then("slice", offset, length)


@rule("unique")
def _unique(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed)
    (subset,), options = step.args, step.options
    if stage.is_one:
        return stage.then("unique", *step.args, **options)
    if options["keep"] != "none":
        stage = stage.then("unique", subset, **options).done()
    names = subset or list(step.schema)
    types = [step.schema[name] for name in names]
    if options["maintain_order"] or not all(map(may_hash, types)):
        return stage.one().then("unique", subset, **options)
    parts = LIMITS.parts(stage.nbytes(), stage.client)
    stage = shuffled(stage, [pl.col(name) for name in names], types, parts)
    return stage.then("unique", subset, **options)
