"""Rows of a frame in groups, of which aggregates make a row each."""

from __future__ import annotations

import math
import operator
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import numpy as np

from freestone.collections.hints import missing_of_groups, not_iterated
from freestone.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from freestone.collections.relational import Relational

__all__ = ["GroupBy", "WindowGroupBy", "count_of", "items_of", "sample_options", "whole_number"]

F = TypeVar("F", bound="Relational")


class Groups(ABC, Generic[F]):
    """Rows in groups of some sort, of which aggregates make a row each."""

    _made_by: str

    @abstractmethod
    def agg(self, *aggregates: Any, **named: Any) -> F:
        """Make a row of each group of expressions of its rows."""

    def len(self, name: str = "len") -> F:
        """Count the rows of each group."""
        import polars as pl

        return self.agg(pl.len().alias(name))

    def _of_each(self, method: str, *args: Any) -> F:
        """Make of each column that is no key what a method of expressions makes of it."""
        import polars as pl

        return self.agg(getattr(pl.all(), method)(*args))

    def all(self) -> F:
        """Make a list of the values of each column in each group, as ``LazyGroupBy.all``."""
        import polars as pl

        return self.agg(pl.all())

    def first(self) -> F:
        """Take the first value of each column in each group, as ``LazyGroupBy.first``."""
        return self._of_each("first")

    def last(self) -> F:
        """Take the last value of each column in each group, as ``LazyGroupBy.last``."""
        return self._of_each("last")

    def max(self) -> F:
        """Return the largest value of each column in each group, as ``LazyGroupBy.max``."""
        return self._of_each("max")

    def mean(self) -> F:
        """Return the mean of each column in each group, as ``LazyGroupBy.mean``."""
        return self._of_each("mean")

    def median(self) -> F:
        """Return the median of each column in each group, as ``LazyGroupBy.median``."""
        return self._of_each("median")

    def min(self) -> F:
        """Return the smallest value of each column in each group, as ``LazyGroupBy.min``."""
        return self._of_each("min")

    def n_unique(self) -> F:
        """Count the distinct values of each column in each group, as ``LazyGroupBy.n_unique``."""
        return self._of_each("n_unique")

    def quantile(self, quantile: float, interpolation: str = "nearest") -> F:
        """Return a quantile of each column in each group, as ``LazyGroupBy.quantile``."""
        return self._of_each("quantile", quantile, interpolation)

    def sum(self) -> F:
        """Add up each column in each group, as ``LazyGroupBy.sum``."""
        return self._of_each("sum")

    def __iter__(self) -> NoReturn:
        """Raise `TypeError`: groups are not in one place before they are aggregated."""
        raise TypeError(not_iterated(self._made_by))

    def __getitem__(self, key: Any) -> NoReturn:
        """Raise `TypeError`: columns of groups are what `agg` takes."""
        raise TypeError(
            f"{self._made_by}() makes groups, which are not indexed, as by [{key!r}]: write "
            f"agg(pl.col({key!r}).sum()), say"
        )

    if not TYPE_CHECKING:  # else a checker would find no mistake in names

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(missing_of_groups(name, self._made_by), name=name, obj=self)


class GroupBy(Groups[F]):
    """Rows in groups, for ``agg``."""

    _made_by = "group_by"

    def __init__(
        self, frame: F, by: Sequence[Any], named_by: Mapping[str, Any], maintain_order: bool
    ) -> None:
        self._frame = frame
        self._by = (by, named_by)
        self._maintain_order = maintain_order

    def agg(self, *aggregates: Any, **named: Any) -> F:
        """Make a row of each group, as ``LazyGroupBy.agg``.

        Parameters
        ----------
        *aggregates, **named
            Expressions, which are computed of the rows of a group.
        """
        from freestone.collections.tables import each_expr

        by, named_by = self._by
        return self._frame._then(
            "group_by",
            list(each_expr(by, named_by)),
            list(each_expr(aggregates, named)),
            maintain_order=self._maintain_order,
        )

    def head(self, n: int = 5) -> F:
        """Take the first rows of each group, as ``LazyGroupBy.head``."""
        return self._some_of_each("head", n)

    def tail(self, n: int = 5) -> F:
        """Take the last rows of each group, as ``LazyGroupBy.tail``."""
        return self._some_of_each("tail", n)

    def _some_of_each(self, method: str, n: int) -> F:
        lists = self._of_each(method, count_of(f"group_by().{method}", n))
        by, named_by = self._by
        keys = self._frame.select(*by, **named_by).columns
        names = [name for name in lists.columns if name not in keys]
        # Of no rows polars makes one of nulls for each group.
        return lists._then("explode", names, empty_as_null=True)


class WindowGroupBy(Groups[F]):
    """Rows in windows, for ``agg``."""

    def __init__(self, frame: F, made_by: str, index: pl.Expr, options: Mapping[str, Any]) -> None:
        self._frame = frame
        self._made_by = made_by
        self._index = index
        self._options = options

    def agg(self, *aggregates: Any, **named: Any) -> F:
        """Make a row of each window that there is, as ``LazyGroupBy.agg``.

        Parameters
        ----------
        *aggregates, **named
            Expressions, which are computed of the rows of a window.
        """
        from freestone.collections.tables import each_expr

        made = list(each_expr(aggregates, named))
        return self._frame._then(self._made_by, self._index, made, **self._options)


def count_of(method: str, rows: Any) -> int:
    """Return a number of rows, or say that it is none."""
    found = whole_number(method, rows)
    if found < 0:
        raise ValueError(f"{method}({found}): it is a number of rows, 0 or more")
    return found


def sample_options(n: Any, fraction: Any, with_replacement: bool, seed: Any) -> dict[str, Any]:
    """Return what a sample is drawn by, or say what is wrong with it."""
    if n is not None and fraction is not None:
        raise UsageError(f"sample(n={n!r}, fraction={fraction!r}): give one of them")
    if fraction is None:
        n = count_of("sample", 1 if n is None else n)
    elif (
        isinstance(fraction, bool)
        or not isinstance(fraction, float | int | np.number)
        or not (fraction >= 0 and (fraction <= 1 or (with_replacement and math.isfinite(fraction))))
    ):
        raise UsageError(
            f"sample(fraction={fraction!r}): it is a share of all rows, from 0 to 1, as in "
            "sample(fraction=0.1); with_replacement=True allows more than 1"
        )
    if seed is None:
        seed = secrets.randbits(63)
    elif not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"sample(seed={seed!r}): it is a whole number, 0 or more, or None")
    return {
        "n": n,
        "fraction": None if fraction is None else float(fraction),
        "with_replacement": bool(with_replacement),
        "seed": int(seed),
    }


def whole_number(method: str, rows: Any) -> int:
    """Return a whole number of rows, or say that it is none."""
    try:
        return operator.index(rows)
    except TypeError:
        raise TypeError(
            f"{method}({rows!r}): it is a whole number of rows, as in {method}(5); "
            "select('a') takes columns by name"
        ) from None


def items_of(value: Any) -> list[Any]:
    """Return one or several of something as a list."""
    if isinstance(value, Mapping):
        raise TypeError(
            f"names of columns or expressions, not a dict, {value!r}: write a list of them; "
            "what its values say has options, such as descending= or left_on= and right_on="
        )
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
