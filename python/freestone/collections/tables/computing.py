"""What polars is asked to do of a plan, and how."""

from __future__ import annotations

import polars as pl

__all__ = ["in_order"]

# With it, polars 2.1 forgets the order of a join's rows although a slice of them is taken, if what
# comes after the slice has none.
_KEEPING_ORDER = pl.QueryOptFlags(check_order_observe=False)


def in_order(frame: pl.LazyFrame) -> pl.DataFrame:
    """Compute a table whose steps find the rows in the order that the steps before them give.

    Raises
    ------
    polars.exceptions.ComputeError
        Also where polars panics, which no ``except Exception`` would catch.
    """
    try:
        return frame.collect(optimizations=_KEEPING_ORDER)
    except pl.exceptions.PanicException as panic:
        raise pl.exceptions.ComputeError(
            f"polars failed without a reason ({panic}); some of its functions do on columns "
            "without values, such as quantiles of dates: filter those out, or cast the column"
        ) from None
