"""Tables below each other: the parts of one after those of the other, where they are."""

from __future__ import annotations

import polars as pl

from freestone.collections.tables.lowering import lower, rule
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__: list[str] = []


@rule("concat")
def _concat(step: Op, needed: Columns) -> Stage:
    names = [name for name in step.schema if needed is None or name in needed]
    empty = step.empty.select(names or list(step.schema)[:1])
    stages = []
    for node in step.inputs:
        own = {name for name in empty.columns if name in node.schema}
        stages.append(_as_in(lower(node, own), empty))
    client = next((stage.client for stage in stages if stage.client is not None), None)
    parts = [list(part) for stage in stages for part in stage.blocks()]
    return Stage.of(parts, empty, client, is_done=True)


def _as_in(stage: Stage, empty: pl.DataFrame) -> Stage:
    """Have a stage give the columns of a table, in its order and of its types."""
    if stage.plan.schema == empty.schema:
        return stage
    columns = [
        pl.col(name).cast(dtype) if name in stage.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in empty.schema.items()
    ]
    # Literals alone would make one row.
    stage = stage.then("with_columns", columns)
    return stage.then("select", empty.columns)
