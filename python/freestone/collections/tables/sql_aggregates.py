"""Aggregates in SQL: those of parts, and how they make the aggregate of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["kinds_of", "of_parts"]

_SAME = frozenset(
    {
        *("sum", "min", "max", "product", "any_value"),
        *("bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"),
    }
)
"""Aggregates of which those of the parts are combined by the same."""
_ADDED = frozenset({"count_if", "countif"})
_COUNTS = frozenset({"count", "count_star"})
_MEANS = frozenset({"avg", "mean"})
_SPREADS = {
    "stddev": "sqrt(r.s / nullif(r.n - 1, 0))",
    "stddev_pop": "sqrt(r.s / r.n)",
    "stddev_samp": "sqrt(r.s / nullif(r.n - 1, 0))",
    "var_pop": "r.s / r.n",
    "var_samp": "r.s / nullif(r.n - 1, 0)",
    "variance": "r.s / nullif(r.n - 1, 0)",
}
"""Aggregates of the count `r.n` of values and the sum `r.s` of their squares around the mean."""


def kinds_of(name: str) -> tuple[str, ...]:
    """Return the aggregates that are computed of each part for one of all rows.

    Raises
    ------
    KeyError
        If there are none.
    """
    if name in _MEANS:
        return "sum", "count"
    if name in _SPREADS:
        return "count", "avg", "var_pop"
    if name not in _SAME | _ADDED | _COUNTS:
        raise KeyError(name)
    return (name,)


def of_parts(name: str, columns: Sequence[str], cast: Callable[[str, str], str]) -> str:
    """Return the text of an aggregate of all rows.

    Parameters
    ----------
    name
        The aggregate.
    columns
        The columns of those of the parts, as `kinds_of` says.
    cast
        Gives a text the type of such a column.
    """
    made = f'"{columns[0]}"'
    if name in _COUNTS:
        return f"CAST(coalesce(sum({made}), 0) AS BIGINT)"
    if name in _MEANS:
        return f'{cast(f"sum({made})", columns[0])} / CAST(sum("{columns[1]}") AS BIGINT)'
    if name in _SPREADS:
        return _spread(_SPREADS[name], *columns)
    return cast(f"{'sum' if name in _ADDED else name}({made})", columns[0])


def _spread(result: str, count: str, mean: str, variance: str) -> str:
    """Return the text of a variance, or what is made of it, of those of the parts.

    References
    ----------
    Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample
    variances, 1979: nothing cancels, as it does in a sum of squares.
    """
    of_part = f'{{\'n\': "{count}", \'m\': "{mean}", \'s\': "{variance}" * "{count}"}}'
    both = (
        "{'n': p.n + q.n, 'm': p.m + (q.m - p.m) * q.n / (p.n + q.n), "
        "'s': p.s + q.s + (q.m - p.m) ** 2 * p.n * q.n / (p.n + q.n)}"
    )
    together = f'list_reduce(list({of_part}) FILTER ("{count}" > 0), lambda p, q: {both})'
    return f"list_extract(list_transform([{together}], lambda r: {result}), 1)"
