"""What is made of all rows of a table: an aggregate of each column, and what describes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from freestone.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from freestone.collections.tables import Node

__all__ = ["Summaries"]


class Summaries:
    """Aggregates of all rows, as a row, by the rules of polars' LazyFrame."""

    def to_polars(self) -> pl.DataFrame:
        """Return the whole as a frame of polars."""
        raise NotImplementedError

    def select(self, *exprs: Any, **named: Any) -> Self:
        """Make other columns, or aggregates of all rows."""
        raise NotImplementedError

    def _as_node(self) -> Node:
        """Return the frame as a step of a plan."""
        raise NotImplementedError

    def _of_each(self, method: str, *args: Any) -> Self:
        """Make a row of an aggregate of each column; null where its type has none."""
        import polars as pl

        empty = self._as_node().empty
        known = [name for name in empty.columns if _is_for(empty, name, method, args)]
        types = getattr(empty.lazy(), method)(*args).collect_schema()
        each = [getattr(pl.col(name), method)(*args) for name in known]
        made = self.select(each) if known else self.select(pl.len())
        nulls = {name: pl.lit(None, types[name]) for name in empty.columns if name not in known}
        shown = [nulls[name].alias(name) if name in nulls else name for name in empty.columns]
        return made.select(shown) if nulls else made

    def count(self) -> Self:
        """Count the values of each column that are not null, as ``LazyFrame.count``."""
        return self._of_each("count")

    def null_count(self) -> Self:
        """Count the nulls of each column, as ``LazyFrame.null_count``."""
        return self._of_each("null_count")

    def max(self) -> Self:
        """Return the largest value of each column, as ``LazyFrame.max``."""
        return self._of_each("max")

    def mean(self) -> Self:
        """Return the mean of each column, as ``LazyFrame.mean``."""
        return self._of_each("mean")

    def median(self) -> Self:
        """Return the median of each column, as ``LazyFrame.median``; exact, by few of the rows."""
        return self._of_each("median")

    def min(self) -> Self:
        """Return the smallest value of each column, as ``LazyFrame.min``."""
        return self._of_each("min")

    def quantile(self, quantile: float, interpolation: str = "nearest") -> Self:
        """Return a quantile of each column, as ``LazyFrame.quantile``; exact, as `median` is."""
        return self._of_each("quantile", quantile, interpolation)

    def std(self, ddof: int = 1) -> Self:
        """Return the standard deviation of each column, as ``LazyFrame.std``."""
        return self._of_each("std", ddof)

    def sum(self) -> Self:
        """Add up each column, as ``LazyFrame.sum``."""
        return self._of_each("sum")

    def var(self, ddof: int = 1) -> Self:
        """Return the variance of each column, as ``LazyFrame.var``."""
        return self._of_each("var", ddof)

    def describe(
        self,
        percentiles: Sequence[float] | float | None = (0.25, 0.5, 0.75),
        *,
        interpolation: str = "nearest",
    ) -> pl.DataFrame:
        """Return counts, means, extremes and quantiles of all columns, as ``LazyFrame.describe``.

        Parameters
        ----------
        percentiles
            Which quantiles there are; None for none.
        interpolation
            As for `quantile`.

        Notes
        -----
        Computed at once: of each part, and the quantiles by few of the rows.
        """
        import polars as pl

        schema = self._as_node().schema
        if not schema:
            raise TypeError("describe() of a frame without columns: there is nothing to describe")
        quantiles = _fractions(percentiles)
        metrics = ["count", "null_count", "mean", "std", "min"]
        metrics += [*(f"{fraction * 100:g}%" for fraction in quantiles), "max"]
        exprs: dict[str, pl.Expr] = {}
        means: dict[str, pl.Expr] = {}
        for name, dtype in schema.items():
            for metric, expr in zip(
                metrics, _metrics(name, dtype, quantiles, interpolation), strict=True
            ):
                # One call makes the means of times, and gets these columns alone.
                is_apart = metric == "mean" and dtype.is_temporal()
                if expr is not None:
                    (means if is_apart else exprs)[f"{metric}:{name}"] = expr
        found: dict[str, Any] = {}
        for each in (exprs, means):
            if each:
                found |= self.select(**each).to_polars().row(0, named=True)
        columns = {
            name: [_shown(dtype, found.get(f"{metric}:{name}")) for metric in metrics]
            for name, dtype in schema.items()
        }
        return pl.DataFrame({"statistic": metrics} | columns)


def _is_for(empty: pl.DataFrame, name: str, method: str, args: Sequence[Any]) -> bool:
    """Tell whether a column's type has an aggregate."""
    import polars as pl

    if method == "quantile" and empty.schema[name] == pl.Date:
        # There are quantiles of dates, but not of none.
        return True
    try:
        empty.select(getattr(pl.col(name), method)(*args))
    except pl.exceptions.InvalidOperationError:
        return False
    return True


def _fractions(percentiles: Sequence[float] | float | None) -> list[float]:
    """Return the quantiles that are asked for, in order."""
    if percentiles is None:
        return []
    found = [percentiles] if isinstance(percentiles, int | float) else sorted(percentiles)
    if not all(0 <= fraction <= 1 for fraction in found):
        raise UsageError(f"describe({percentiles!r}): quantiles are fractions, from 0 to 1")
    return found


def _metrics(
    name: str, dtype: pl.DataType, quantiles: Sequence[float], interpolation: Any
) -> Iterator[pl.Expr | None]:
    """Yield what describes a column; None for what its type does not have."""
    import polars as pl

    column = pl.col(name)
    is_number, is_time = dtype.is_numeric(), dtype.is_temporal()
    coded = dtype.is_nested() or isinstance(
        dtype, pl.Categorical | pl.Enum | pl.Null | pl.Object | pl.Unknown
    )
    yield column.count()
    yield column.null_count()
    yield column.mean() if is_number or is_time or dtype == pl.Boolean else None
    yield column.std() if is_number else None
    yield None if coded else column.min()
    for fraction in quantiles:
        values = column.to_physical() if is_time else column
        made = values.quantile(fraction, interpolation)
        yield made.cast(dtype) if is_time else made if is_number else None
    yield None if coded else column.max()


def _shown(dtype: pl.DataType, value: Any) -> Any:
    """Return a number as polars shows it: as a text beside times and texts."""
    import polars as pl

    if value is None:
        return None
    is_number = dtype.is_numeric() or dtype.is_nested() or dtype in (pl.Null(), pl.Boolean())
    return float(value) if is_number else str(value)
