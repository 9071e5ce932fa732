"""What polars is asked to do of a plan, and how."""

from __future__ import annotations

import polars as pl

__all__ = ["in_order"]

# With it, polars 2.1 forgets the order of a join's rows although a slice of them is taken, if what
# comes after the slice has none.
_KEEPING_ORDER = pl.QueryOptFlags(check_order_observe=False)


def in_order(frame: pl.LazyFrame) -> pl.DataFrame:
    """Compute a table whose steps find the rows in the order that the steps before them give."""
    return frame.collect(optimizations=_KEEPING_ORDER)
