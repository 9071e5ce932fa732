"""Reductions: many blocks into one, by place first and then in a tree."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, Unpack, overload

from freestone.client.finished import FinishedFuture, value_here
from freestone.client.future import Future
from freestone.client.opened import current
from freestone.client.options import CallOptions
from freestone.client.usage import refuse_coroutines

__all__ = ["reduce"]

T = TypeVar("T")


@overload
def reduce(
    op: Callable[[T, T], T],
    blocks: Iterable[Future[T]],
    *,
    arity: int = 8,
    commutes: bool = False,
    **options: Unpack[CallOptions],
) -> Future[T]: ...


@overload
def reduce(
    op: Callable[[T, T], T],
    blocks: Iterable[T],
    *,
    arity: int = 8,
    commutes: bool = False,
    **options: Unpack[CallOptions],
) -> Future[T]: ...


def reduce(
    op: Callable[[Any, Any], Any],
    blocks: Iterable[Any],
    *,
    arity: int = 8,
    commutes: bool = False,
    **options: Any,
) -> Any:
    """Combine many blocks into one.

    Blocks are combined as they come, in a tree: what is on one worker first, then across workers.
    No call takes more than `arity` of them.

    Parameters
    ----------
    op
        Combines two values; must be associative.
    blocks
        Futures or values, at least one.
    arity
        The most inputs of one call, at least 2.
    commutes
        Whether the order does not matter, as for sums and histograms: then blocks are combined in
        order of arrival and by place, and hardly any is sent. By default only neighbours are
        combined, and the result is that of `functools.reduce`.
    **options
        Those of `Cluster.submit` for each call.

    Returns
    -------
    Future
        That of the result; without a cluster it is finished, and the result is here.

    Raises
    ------
    ValueError
        When there are no blocks or `arity` is less than 2.
    TypeError
        When `arity` is no whole number, or `op` is an async function.

    Notes
    -----
    n blocks take about (n - 1) / (arity - 1) calls and ceil(log(n) / log(arity)) rounds. Most
    neighbours are on different workers, so without ``commutes=True`` most blocks are sent once.

    References
    ----------
    Sly-Delgado et al., "Reshaping High Energy Physics Applications for Near-Interactive
    Execution Using TaskVine", section IV.C and figure 11.

    Examples
    --------
    >>> import operator
    >>> import freestone as fs
    >>> fs.reduce(operator.add, [1, 2, 3]).result()
    6
    """
    blocks = list(blocks)
    refuse_coroutines("reduce()", op)
    if not blocks:
        raise ValueError("reduce() of no blocks: give at least one")
    if isinstance(arity, bool) or not isinstance(arity, int):
        raise TypeError(f"arity={arity!r}: give a whole number of blocks, at least 2")
    if not 2 <= arity < 2**31:
        raise ValueError(f"arity={arity}: a reduction takes at least two blocks at a time")
    client = next((b.client for b in blocks if isinstance(b, Future)), None) or current()
    if client is None:
        return FinishedFuture(fold(op, *map(value_here, blocks)))
    combine = functools.partial(fold, op)
    return client.reduce(combine, blocks, arity, commutes=commutes, options=options)


def fold(op: Callable[[Any, Any], Any], *values: Any) -> Any:
    """Combine values from the left."""
    try:
        return functools.reduce(op, values)
    except TypeError as error:
        # Raised by the call itself, not inside of the function.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            name = getattr(op, "__name__", repr(op))
            error.add_note(
                f"what to do: a reduction calls {name}(a, b) with two results at a time; "
                "give a function of two arguments, such as operator.add"
            )
        raise
