"""What can be asked of the rows of a table: the methods of polars' LazyFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from freestone.collections.groups import (
    GroupBy,
    WindowGroupBy,
    count_of,
    items_of,
    sample_options,
    whole_number,
)
from freestone.collections.hints import refuse_mask
from freestone.collections.joins import Joins
from freestone.collections.summaries import Summaries
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    pass

__all__ = ["Relational"]

T = TypeVar("T")


@suggest_keywords
class Relational(Joins, Summaries):
    """The methods of a frame that make another, lazily, by polars' expressions."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        raise NotImplementedError

    def _names(self, columns: Any) -> list[str]:
        """Return the names of columns that are given by names or selectors."""
        return [] if columns is None else list(self.select(*items_of(columns)).columns)

    def _then(self, method: str, /, *args: Any, others: Sequence[Any] = (), **options: Any) -> Self:
        """Return the frame that a method of polars' makes of this one and others."""
        raise NotImplementedError

    # -- row by row ---------------------------------------------------------------------------

    def filter(self, *predicates: Any, **constraints: Any) -> Self:
        """Keep the rows for which all predicates are true, as ``LazyFrame.filter``.

        Parameters
        ----------
        *predicates
            Expressions of booleans. One that needs other rows, such as ``pl.col("x") >
            pl.col("x").mean()``, is computed by one call that gets all rows.
        **constraints
            Values of columns.
        """
        self._refuse_masks(predicates, constraints)
        return self._then("filter", *predicates, **constraints)

    def remove(self, *predicates: Any, **constraints: Any) -> Self:
        """Leave out the rows for which all predicates are true, as ``LazyFrame.remove``."""
        self._refuse_masks(predicates, constraints)
        return self._then("remove", *predicates, **constraints)

    def _refuse_masks(self, predicates: Sequence[Any], constraints: Mapping[str, Any]) -> None:
        for predicate in predicates:
            refuse_mask(predicate, self.columns if isinstance(predicate, str) else ())
        for value in constraints.values():
            refuse_mask(value, (value,) if isinstance(value, str) else ())

    def select(self, *exprs: Any, **named: Any) -> Self:
        """Make other columns of each row, or aggregates of all rows, as ``LazyFrame.select``."""
        return self._then("select", *map(_listed, exprs), **named)

    def with_columns(self, *exprs: Any, **named: Any) -> Self:
        """Add columns, or replace them, as ``LazyFrame.with_columns``."""
        return self._then("with_columns", *map(_listed, exprs), **named)

    def drop(self, *columns: Any, strict: bool = True) -> Self:
        """Leave columns out, as ``LazyFrame.drop``."""
        return self._then("drop", *map(_listed, columns), strict=strict)

    def rename(self, mapping: Mapping[str, str], *, strict: bool = True) -> Self:
        """Give columns other names, as ``LazyFrame.rename``."""
        if not isinstance(mapping, Mapping):
            raise TypeError(
                f"rename() takes a dict of old names to new ones, not {mapping!r}: for a function "
                "f of names write rename({name: f(name) for name in x.columns})"
            )
        return self._then("rename", dict(mapping), strict=strict)

    def cast(self, dtypes: Any, *, strict: bool = True) -> Self:
        """Give columns other types, as ``LazyFrame.cast``."""
        return self._then("cast", dtypes, strict=strict)

    def explode(self, *columns: Any) -> Self:
        """Make a row of each item of lists, as ``LazyFrame.explode``."""
        return self._then("explode", *map(_listed, columns))

    def unnest(self, *columns: Any) -> Self:
        """Make columns of the fields of structs, as ``LazyFrame.unnest``."""
        return self._then("unnest", *map(_listed, columns))

    def fill_null(self, value: Any = None, strategy: Any = None, limit: int | None = None) -> Self:
        """Replace nulls by a value or an expression, or by a strategy, as ``LazyFrame.fill_null``.

        Parameters
        ----------
        value
            What takes their place, in columns that hold such values.
        strategy
            ``"forward"``, ``"backward"``, ``"min"``, ``"max"``, ``"mean"``, ``"zero"`` or
            ``"one"``, instead of a value; computed by one call that gets all rows.
        limit
            How many nulls in a row ``"forward"`` and ``"backward"`` replace; all by default.
        """
        if strategy is None and limit is None and value is not None:
            return self._then("fill_null", value)
        import polars as pl

        return self.with_columns(pl.all().fill_null(value, strategy, limit))

    def fill_nan(self, value: Any) -> Self:
        """Replace NaNs by a value or an expression, as ``LazyFrame.fill_nan``."""
        return self._then("fill_nan", value)

    def drop_nulls(self, subset: Any = None) -> Self:
        """Leave out rows with a null, as ``LazyFrame.drop_nulls``."""
        return self._then("drop_nulls", subset)

    def drop_nans(self, subset: Any = None) -> Self:
        """Leave out rows with a NaN, as ``LazyFrame.drop_nans``."""
        return self._then("drop_nans", subset)

    def pipe(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return what a function makes of this frame, given first, as ``LazyFrame.pipe``."""
        return function(self, *args, **options)

    def unpivot(
        self,
        on: Any = None,
        *,
        index: Any = None,
        variable_name: str | None = None,
        value_name: str | None = None,
    ) -> Self:
        """Make a row of each value of some columns, as ``LazyFrame.unpivot``.

        Parameters
        ----------
        on
            The columns of values; by default all that are not in `index`.
        index
            Columns that each of the new rows has.
        variable_name, value_name
            What the columns of names and values are called: ``variable`` and ``value``.

        Notes
        -----
        Rows come in any order.
        """
        kept = self._names(index)
        chosen = self._names(on) if on is not None else [n for n in self.columns if n not in kept]
        return self._then(
            "unpivot", chosen, index=kept, variable_name=variable_name, value_name=value_name
        )

    # -- rows together ------------------------------------------------------------------------

    def pivot(
        self,
        on: Any,
        on_columns: Any = None,
        *,
        index: Any = None,
        values: Any = None,
        aggregate_function: str | None = None,
        maintain_order: bool = False,
    ) -> Self:
        """Make a column of each value of some columns, as ``LazyFrame.pivot``.

        Parameters
        ----------
        on
            The columns whose values become columns.
        on_columns
            Those values, as a list, or as a frame of polars if there are several columns. By
            default all that there are, sorted: then the frame is computed for them at once.
        index
            Columns by whose values rows are made; by default all others.
        values
            The columns whose values fill the new ones; by default all others.
        aggregate_function
            What is made of several values: ``"first"``, ``"last"``, ``"len"``, ``"max"``,
            ``"mean"``, ``"median"``, ``"min"`` or ``"sum"``; by default there may be one alone.
        maintain_order
            Whether rows come in the order in which their index is first seen; else in any.

        Notes
        -----
        Computed as `group_by` of the index is.
        """
        import polars as pl

        from freestone.collections.tables import aggregates_of_pivot

        columns = self._names(on)
        if index is None and values is None:
            raise ValueError("pivot() without index= and values=: say one of them, or both")
        by = None if index is None else self._names(index)
        filled = None if values is None else self._names(values)
        if by is None:
            by = [name for name in self.columns if name not in [*columns, *(filled or [])]]
        if filled is None:
            filled = [name for name in self.columns if name not in [*columns, *by]]
        empty = self._as_node().empty
        if on_columns is None:
            found = self.select(columns).unique().sort(columns).to_polars()
        elif isinstance(on_columns, pl.DataFrame):
            found = on_columns.select(columns)
        else:
            found = pl.DataFrame({columns[0]: on_columns}, schema=empty.select(columns[:1]).schema)
        aggregate = aggregate_function or "item"
        made = aggregates_of_pivot(empty, columns, filled, found, aggregate)
        return (
            self.group_by(by, maintain_order=maintain_order).agg(made) if by else self.select(made)
        )

    def group_by(self, *by: Any, maintain_order: bool = False, **named_by: Any) -> GroupBy[Self]:
        """Group rows, for ``agg``, as ``LazyFrame.group_by``.

        Parameters
        ----------
        *by, **named_by
            Names of columns, or expressions.
        maintain_order
            Whether groups come in the order in which they are first seen; else in any.

        Notes
        -----
        Sums, means, counts, extremes, first and last values, ``any``, ``all`` and ``n_unique``, and
        expressions of them, are computed of each part first. For others the rows are moved, between
        workers, so that those of a group are together.
        """
        return GroupBy(self, by, named_by, maintain_order)

    def group_by_dynamic(
        self,
        index_column: Any,
        *,
        every: Any,
        period: Any = None,
        offset: Any = None,
        include_boundaries: bool = False,
        closed: str = "left",
        label: str = "left",
        group_by: Any = None,
        start_by: str = "window",
    ) -> WindowGroupBy[Self]:
        """Group rows by windows of a time or number, for ``agg``, as in ``LazyFrame``.

        Parameters
        ----------
        index_column
            The column of times or whole numbers, or an expression.
        every, period, offset
            How far apart windows begin, how long each is, and by how much all are moved: such as
            ``"1d"``, ``"10i"`` of numbers, or a timedelta.
        group_by
            Names of columns, or expressions: rows that differ in them are in different windows.
        include_boundaries, closed, label, start_by
            As for polars.

        Notes
        -----
        Rows need not be sorted. They are moved, between workers, so that each part has the rows of
        the windows that begin between two values; those of windows that reach further are copied.
        With `group_by` they are moved by its hash. One call gets all rows if the windows reach over
        most parts, or if what they are grouped by has no hash or needs other rows, as
        ``pl.col("t").shift()`` does. Windows come in order, with `group_by` in any.
        """
        from freestone.collections.tables import as_expr

        _check_durations("group_by_dynamic", {"every": every}, period=period, offset=offset)
        options = {
            "every": every,
            "period": period,
            "offset": offset,
            "include_boundaries": include_boundaries,
            "closed": closed,
            "label": label,
            "group_by": None if group_by is None else items_of(group_by),
            "start_by": start_by,
        }
        return WindowGroupBy(self, "group_by_dynamic", as_expr(index_column), options)

    def rolling(
        self,
        index_column: Any,
        *,
        period: Any,
        offset: Any = None,
        closed: str = "right",
        group_by: Any = None,
    ) -> WindowGroupBy[Self]:
        """Group the rows around each row by a time or number, for ``agg``, as in ``LazyFrame``.

        Parameters
        ----------
        index_column
            The column of times or whole numbers, or an expression.
        period, offset
            How long each window is, and how far from its row it begins, by default so that it
            ends there: such as ``"1d"``, ``"10i"`` of numbers, or a timedelta.
        closed
            Which ends belong to a window: ``"right"``, ``"left"``, ``"both"`` or ``"none"``.
        group_by
            Names of columns, or expressions: rows that differ in them are in different windows.

        Notes
        -----
        Computed as `group_by_dynamic` is: rows need not be sorted, and each part gets the rows
        around its own that windows reach. There is a window for each row, in the order of the
        index; with `group_by` in any.
        """
        from freestone.collections.tables import as_expr

        _check_durations("rolling", {"period": period}, offset=offset)
        options = {
            "period": period,
            "offset": offset,
            "closed": closed,
            "group_by": None if group_by is None else items_of(group_by),
        }
        return WindowGroupBy(self, "rolling", as_expr(index_column), options)

    def sort(
        self,
        by: Any,
        *more_by: Any,
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
        maintain_order: bool = False,
    ) -> Self:
        """Sort rows, as ``LazyFrame.sort``.

        Notes
        -----
        Rows are moved, between workers, so that each part has those between two values of the first
        key, which are found by a sample of it. Rows of the same first key are in one part.
        """
        keys = [*items_of(by), *more_by]
        if not keys:
            raise ValueError("sort([]): there is nothing to sort by; name a column or more")
        return self._then(
            "sort",
            keys,
            descending=descending,
            nulls_last=nulls_last,
            maintain_order=maintain_order,
        )

    def unique(
        self, subset: Any = None, *, keep: str = "any", maintain_order: bool = False
    ) -> Self:
        """Leave out rows that are there more than once, as ``LazyFrame.unique``.

        Without `maintain_order` rows come in any order.
        """
        names = None if subset is None else self._names(subset)
        return self._then("unique", names, keep=keep, maintain_order=maintain_order)

    def head(self, n: int = 5) -> Self:
        """Take the first rows; of a sorted frame without sorting all."""
        return self._then("head", count_of("head", n))

    def limit(self, n: int = 5) -> Self:
        """Take the first rows; the same as `head`."""
        return self.head(n)

    def top_k(self, k: int, *, by: Any, reverse: bool | Sequence[bool] = False) -> Self:
        """Take the `k` largest rows, in any order, as ``LazyFrame.top_k``."""
        return self._largest(count_of("top_k", k), by, reverse, largest=True)

    def bottom_k(self, k: int, *, by: Any, reverse: bool | Sequence[bool] = False) -> Self:
        """Take the `k` smallest rows, in any order, as ``LazyFrame.bottom_k``."""
        return self._largest(count_of("bottom_k", k), by, reverse, largest=False)

    def _largest(self, k: int, by: Any, reverse: bool | Sequence[bool], *, largest: bool) -> Self:
        keys = items_of(by)
        reversed_ = [reverse] * len(keys) if isinstance(reverse, bool) else list(reverse)
        descending = [each != largest for each in reversed_]
        return self.sort(keys, descending=descending, nulls_last=True).head(k)

    def first(self) -> Self:
        """Take the first row, as ``LazyFrame.first``; none if there are no rows."""
        return self.head(1)

    def last(self) -> Self:
        """Take the last row, as ``LazyFrame.last``; none if there are no rows."""
        return self.tail(1)

    def tail(self, n: int = 5) -> Self:
        """Take the last rows."""
        return self._then("tail", count_of("tail", n))

    def slice(self, offset: int, length: int | None = None) -> Self:
        """Take rows from `offset` on, as ``LazyFrame.slice``."""
        length = None if length is None else count_of("slice", length)
        return self._then("slice", whole_number("slice", offset), length)

    def sample(
        self,
        n: int | None = None,
        *,
        fraction: float | None = None,
        with_replacement: bool = False,
        seed: int | None = None,
    ) -> Self:
        """Draw rows at random, as ``DataFrame.sample``; they keep their order.

        Parameters
        ----------
        n
            How many; 1 if there is no `fraction`.
        fraction
            How many of all, instead of `n`: 0.1 for a tenth, rounded down.
        with_replacement
            Whether a row may be drawn several times.
        seed
            The same rows of the same table are drawn by the same seed, however it is cut into
            blocks, and others than by polars; by default others each time `sample` is called.

        Raises
        ------
        UsageError
            When it is computed, if there are fewer rows.

        Notes
        -----
        The rows are made and counted first; then each part draws its own, and none moves.
        """
        return self._then("sample", **sample_options(n, fraction, with_replacement, seed))

    def value_counts(
        self, *columns: Any, sort: bool = False, name: str | None = None, normalize: bool = False
    ) -> Self:
        """Count the rows that have the same values, as ``Series.value_counts``.

        Parameters
        ----------
        *columns
            Of which columns, or expressions; of all by default.
        sort
            Whether the most frequent values come first; else they come in any order.
        name
            What the column of counts is called: ``count``, or ``proportion`` of shares.
        normalize
            Whether to return shares of all rows, as floats, instead of numbers.

        Notes
        -----
        Nulls are counted, too: ``x.drop_nulls()`` before it leaves them out. Parts are counted
        first, as by `group_by`.
        """
        import polars as pl

        counted = name or ("proportion" if normalize else "count")
        found = self.group_by(*(columns or [pl.all()])).agg(pl.len().alias(counted))
        if normalize:
            rows = self.select(pl.len().alias("__rows"))
            share = pl.col(counted) / pl.col("__rows")
            found = found.join(rows, how="cross").with_columns(share.alias(counted)).drop("__rows")
        return found.sort(counted, descending=True) if sort else found

    def with_row_index(self, name: str = "index", offset: int = 0) -> Self:
        """Add a column that numbers the rows; one call gets them all."""
        return self._then("with_row_index", name, offset)

    def reverse(self) -> Self:
        """Take the rows in reverse order; one call gets them all."""
        return self._then("reverse")

    def shift(self, n: int = 1, *, fill_value: Any = None) -> Self:
        """Move the values of all columns by some rows, as ``LazyFrame.shift``, by one call."""
        return self._then("shift", whole_number("shift", n), fill_value=fill_value)

    def gather_every(self, n: int, offset: int = 0) -> Self:
        """Take each `n`-th row, as ``LazyFrame.gather_every``; one call gets them all."""
        return self._then("gather_every", whole_number("gather_every", n), offset)

    def interpolate(self) -> Self:
        """Fill nulls between numbers, as ``LazyFrame.interpolate``; one call gets all rows."""
        return self._then("interpolate")


def _check_durations(method: str, required: dict[str, Any], **optional: Any) -> None:
    """Raise `TypeError` for what is no duration."""
    given = required | {name: value for name, value in optional.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, str | timedelta):
            raise TypeError(
                f"{method}({name}={value!r}): it is a duration, as '1d' or "
                "'10i' of whole numbers, or a timedelta"
            )


def _listed(value: Any) -> Any:
    """Return what can be gone through once as a list, so that it can be twice."""
    return list(value) if isinstance(value, Iterator) else value
