"""Tables: what `Frame` does with polars, part by part.

A frame that is filtered, joined, grouped or sorted is a plan first. `lower` makes stages of it:
steps that look at one row alone are done together, each part by one call of polars; others
aggregate parts first, send a small table to all parts of a large one, or move rows, as blocks, by
the hash of their keys or by their order.

See docs/howto/tables.md
"""

from __future__ import annotations

from freestone.collections.tables import (  # noqa: F401 (they add rules)
    concatenating,
    dynamic,
    grouping,
    joining,
    nearest,
    ordering,
    samples,
    sql,
)
from freestone.collections.tables.calls import schema_of, to_arrow, to_polars
from freestone.collections.tables.expressions import as_expr, each_expr, names_of
from freestone.collections.tables.finishing import finished
from freestone.collections.tables.lowering import LIMITS, Limits, forget_members, lower
from freestone.collections.tables.naming import free_name, from_arrow
from freestone.collections.tables.pivoting import aggregates_of_pivot
from freestone.collections.tables.plan import Leaf, Node, leaves, op
from freestone.collections.tables.problems import empty_of
from freestone.collections.tables.sharing import with_shared_steps_done

__all__ = [
    "LIMITS",
    "Leaf",
    "Limits",
    "Node",
    "aggregates_of_pivot",
    "as_expr",
    "each_expr",
    "empty_of",
    "finished",
    "forget_members",
    "free_name",
    "from_arrow",
    "leaves",
    "lower",
    "names_of",
    "op",
    "schema_of",
    "to_arrow",
    "to_polars",
    "with_shared_steps_done",
]
