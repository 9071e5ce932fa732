"""Joins of tables: the methods of polars' LazyFrame that take a second one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from freestone.collections.groups import items_of
from freestone.errors.keywords import suggest_keywords

__all__ = ["Joins"]


@suggest_keywords
class Joins:
    """The methods of a frame that put its rows together with those of another, lazily."""

    def _then(self, method: str, /, *args: Any, others: Sequence[Any] = (), **options: Any) -> Self:
        """Return the frame that a method of polars' makes of this one and others."""
        raise NotImplementedError

    def sort(self, by: Any, *, maintain_order: bool = False) -> Self:
        """Sort rows."""
        raise NotImplementedError

    def join(
        self,
        other: Self,
        on: Any = None,
        how: str = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
        validate: str = "m:m",
        nulls_equal: bool = False,
        coalesce: bool | None = None,
        maintain_order: str | None = None,
    ) -> Self:
        """Join rows with those of another frame, as ``LazyFrame.join``.

        Parameters
        ----------
        other
            The right table.
        on, left_on, right_on
            Names of columns or expressions whose values are equal in rows that go together.
        how
            ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"``, ``"anti"`` or
            ``"cross"``.
        suffix
            What is added to the name of a right column that the left table has too.
        validate, nulls_equal, coalesce, maintain_order
            As for polars. Without `maintain_order` rows come in any order.

        Raises
        ------
        MissingColumnError, ColumnTypeError
            At once, if keys are not there or can't be compared.

        Notes
        -----
        A small table goes to all parts of the other; of two large ones the rows are moved by the
        hash of their keys, between workers.
        """
        on, left_on, right_on = (
            None if keys is None else items_of(keys) for keys in (on, left_on, right_on)
        )
        if on == [] or (left_on == [] and right_on == []):
            raise ValueError("join() by no columns: name one or more, or give how='cross'")
        return self._then(
            "join",
            others=[other],
            on=on,
            how=how,
            left_on=left_on,
            right_on=right_on,
            suffix=suffix,
            validate=validate,
            nulls_equal=nulls_equal,
            coalesce=coalesce,
            maintain_order=maintain_order,
        )

    def join_asof(
        self,
        other: Self,
        on: Any = None,
        *,
        left_on: Any = None,
        right_on: Any = None,
        by: Any = None,
        by_left: Any = None,
        by_right: Any = None,
        strategy: str = "backward",
        tolerance: Any = None,
        suffix: str = "_right",
        coalesce: bool = True,
        allow_exact_matches: bool = True,
    ) -> Self:
        """Join each row with the one whose key comes next to its own, as ``LazyFrame.join_asof``.

        Parameters
        ----------
        other
            The right table.
        on, left_on, right_on
            The key that is to be near: a column of numbers, times or texts, or an expression.
        by, by_left, by_right
            Columns whose values have to be equal.
        strategy
            ``"backward"``: the last row of the right table whose key is not larger;
            ``"forward"``: the first one whose key is not smaller; or ``"nearest"``.
        tolerance
            How far the keys may be apart: a number, or a time such as ``"10m"``.
        suffix, coalesce, allow_exact_matches
            As for polars.

        Raises
        ------
        MissingColumnError, ColumnTypeError
            At once, if keys are not there or can't be compared.

        Notes
        -----
        The tables need not be sorted. Rows keep the order of a left table that is sorted by the
        key, if there is no `by`; else they come in any order. A small right table goes to all
        parts of the left one; of two large ones the rows are moved, between workers, so that each
        part has those between two keys, or by the hash of `by`.
        """
        near = (on, on) if on is not None else (left_on, right_on)
        equal = (by, by) if by is not None else (by_left, by_right)
        if any(key is None for key in near):
            raise ValueError("join_asof() by no column: give on=, or left_on= and right_on=")
        left, right = (None if keys is None else items_of(keys) for keys in equal)
        return self._then(
            "join_asof",
            others=[other],
            left_on=near[0],
            right_on=near[1],
            by_left=left or None,
            by_right=right or None,
            strategy=strategy,
            tolerance=tolerance,
            suffix=suffix,
            coalesce=coalesce,
            allow_exact_matches=allow_exact_matches,
            # Parts are sorted before they are joined.
            check_sortedness=False,
        )

    def merge_sorted(self, other: Self, key: str) -> Self:
        """Put rows of two frames together in the order of a key, as ``LazyFrame.merge_sorted``.

        They are sorted, so neither frame has to be.
        """
        both = self._then("concat", others=[other], how="vertical")
        return both.sort(key, maintain_order=True)

    def join_where(self, other: Self, *predicates: Any, suffix: str = "_right") -> Self:
        """Join rows for which all predicates are true, as ``LazyFrame.join_where``.

        Parameters
        ----------
        other
            The right table.
        *predicates
            Comparisons of columns of both, such as ``pl.col("begin") < pl.col("end")``.
        suffix
            What is added to the name of a right column that the left table has too.

        Notes
        -----
        The smaller table goes to all parts of the other. Rows come in any order.
        """
        return self._then("join_where", *predicates, others=[other], suffix=suffix)
