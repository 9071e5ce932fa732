"""Reducers: functions of many values that can as well be computed bit by bit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

__all__ = ["Recipe", "associative", "recipe_of", "spread_recipe"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Recipe:
    """How a task over many values is computed from partial ones.

    Attributes
    ----------
    combine : callable
        Of some neighbouring values, given one by one, makes one that stands for them.
    finish : callable or None
        Makes the task's value of the last one; None if it is that already.
    commutes : bool
        Whether values may be combined in any order.
    """

    combine: Callable[..., Any]
    finish: Callable[[Any], Any] | None = None
    commutes: bool = False


@dataclass(frozen=True)
class _Declared:
    combine: Callable[..., Any] | None
    commutes: bool


_declared: dict[Any, _Declared] = {}


@overload
def associative(
    function: F, /, *, combine: Callable[..., Any] | None = ..., commutes: bool = ...
) -> F: ...


@overload
def associative(
    *, combine: Callable[..., Any] | None = ..., commutes: bool = ...
) -> Callable[[F], F]: ...


def associative(
    function: Any = None,
    /,
    *,
    combine: Callable[..., Any] | None = None,
    commutes: bool = False,
) -> Any:
    """Declare that a function of many values can be computed bit by bit.

    A task that calls it on more than 16 others then becomes a tree, by place first: what lies on
    one worker is combined there, and no worker ever holds more than some values at once.

    Parameters
    ----------
    function
        Takes a list of values, or the values as arguments; other arguments are the same in each
        call. Any grouping of neighbours must give the same:
        ``f([f([a, b]), c]) == f([a, f([b, c])]) == f([a, b, c])``.
    combine
        What combines some of the values, called as `function` is, if that is another function;
        `function` is then called once at the end, on a list of one.
    commutes
        Whether the order does not matter either; then values are combined as they arrive.

    Returns
    -------
    callable
        The function itself, so that this is a decorator, too.

    Examples
    --------
    >>> import freestone as fs
    >>> @fs.graph.associative(commutes=True)
    ... def total(parts):
    ...     return sum(parts)

    References
    ----------
    Sly-Delgado et al., "Reshaping High Energy Physics Applications for Near-Interactive
    Execution Using TaskVine", section IV.C and figure 11.
    """
    if function is None:
        return functools.partial(associative, combine=combine, commutes=commutes)
    if not callable(function):
        raise TypeError(f"associative({function!r}): give a function")
    _declared[function] = _Declared(combine, commutes)
    return function


for _builtin in (max, min, any, all):
    associative(_builtin, commutes=True)
associative(sum)

_BY_NAME = {
    ("coffea.processor.accumulator", "accumulate"): _Declared(None, True),
    ("awkward.operations.ak_concatenate", "concatenate"): _Declared(None, False),
    ("numpy", "concatenate"): _Declared(None, False),
    ("dask_histogram.core", "hist_safe_sum"): _Declared(None, True),
}
"""Declared without importing them: they may not be installed."""

_CHUNK_SUMS = frozenset({"sum", "prod", "chunk_min", "chunk_max", "min", "max", "any", "all"})
_FRAME_SUMS = frozenset({"Sum", "Prod", "Min", "Max", "Any", "All", "Count"})


def recipe_of(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    """Find how to compute a task bit by bit.

    Parameters
    ----------
    function
        What the task calls.
    before, after
        Its arguments before and after the values.

    Returns
    -------
    Recipe or None
        None if it is not known to be associative.
    """
    for find in (_declared_recipe, _array_recipe, _bag_recipe, _frame_recipe, _pipe_recipe):
        recipe = find(function, before, after)
        if recipe is not None:
            return recipe
    return None


def spread_recipe(function: Any) -> Recipe | None:
    """Find how to compute a task bit by bit whose values are its arguments."""
    declared = declaration(function)
    if declared is None:
        return None
    finish = None if declared.combine is None else function
    return Recipe(declared.combine or function, finish, declared.commutes)


def declaration(function: Any) -> _Declared | None:
    """Give what is declared of a function, or None."""
    try:
        declared = _declared.get(function)
    except TypeError:
        return None
    return declared or _BY_NAME.get(_name_of(function))


def _name_of(function: Any) -> tuple[str, str]:
    return getattr(function, "__module__", None) or "", getattr(function, "__name__", None) or ""


def _declared_recipe(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    declared = declaration(function)
    if declared is None:
        return None
    call = functools.partial(on_list, declared.combine or function, tuple(before), tuple(after))
    if declared.combine is None:
        return Recipe(call, None, declared.commutes)
    finish = functools.partial(on_one, function, tuple(before), tuple(after))
    return Recipe(call, finish, declared.commutes)


def _array_recipe(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    """Find the recipe of the last step of `sum` and its like over a Dask array."""
    if before or after or type(function).__name__ != "Compose" or len(function.funcs) != 1:
        return None
    join, (last,) = function.first, function.funcs
    axes = getattr(join, "keywords", {}).get("axes")
    name = getattr(getattr(join, "func", None), "__name__", None)
    known = getattr(getattr(last, "func", None), "__name__", None) in _CHUNK_SUMS
    keywords = dict(getattr(last, "keywords", {}))
    if name != "_concatenate2" or not axes or not known or "keepdims" not in keywords:
        return None
    partial = functools.partial(last.func, *last.args, **keywords | {"keepdims": True})
    finish = functools.partial(last.func, *last.args, **keywords)
    return Recipe(functools.partial(join_chunks, partial, axes[0]), finish)


def _bag_recipe(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    """Find the recipe of `Bag.reduction`, which Dask itself may do in a tree."""
    if (
        _name_of(function) != ("dask.bag.core", "empty_safe_aggregate")
        or len(before) != 1
        or len(after) != 1
    ):
        return None
    combine = functools.partial(on_list, function, tuple(before), (False,))
    finish = functools.partial(on_one, function, tuple(before), tuple(after))
    return Recipe(combine, finish)


def _frame_recipe(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    """Find the recipe of the last step of `sum` and its like over a Dask dataframe."""
    if getattr(function, "__name__", None) != "apply" or len(before) != 1:
        return None
    kind = getattr(before[0], "__self__", None)
    if kind is None or _name_of(kind)[1] not in _FRAME_SUMS or not hasattr(kind, "combine"):
        return None
    combine = functools.partial(on_list, kind.combine, (), ())
    return Recipe(combine, functools.partial(in_nested_list, function, before[0], tuple(after)))


def _pipe_recipe(function: Any, before: Sequence[Any], after: Sequence[Any]) -> Recipe | None:
    """Find the recipe of dask-histogram's sums: `pipe(parts, add them up, finish)`."""
    if getattr(function, "__name__", None) != "pipe" or before or not after:
        return None
    declared = declaration(after[0])
    if declared is None or declared.combine is not None:
        return None
    finish = functools.partial(in_turn, tuple(after[1:])) if len(after) > 1 else None
    return Recipe(functools.partial(on_list, after[0], (), ()), finish, declared.commutes)


def on_list(
    function: Callable[..., Any], before: tuple[Any, ...], after: tuple[Any, ...], *values: Any
) -> Any:
    """Call a function with its values in a list."""
    return function(*before, list(values), *after)


def on_one(
    function: Callable[..., Any], before: tuple[Any, ...], after: tuple[Any, ...], value: Any
) -> Any:
    """Call a function with a list of one value."""
    return function(*before, [value], *after)


def in_nested_list(
    apply: Callable[..., Any], function: Callable[..., Any], after: tuple[Any, ...], value: Any
) -> Any:
    """Apply a function to a list of one value, as Dask's dataframes do."""
    return apply(function, [[value]], *after)


def in_turn(functions: Sequence[Callable[[Any], Any]], value: Any) -> Any:
    """Call functions, each with the result of the one before."""
    for function in functions:
        value = function(value)
    return value


def join_chunks(reduce: Callable[[Any], Any], axis: int, *chunks: Any) -> Any:
    """Reduce some neighbouring chunks of an array to one, of length 1 along the reduced axes."""
    from dask.array.core import concatenate_lookup

    concatenate = concatenate_lookup.dispatch(type(chunks[0]))
    return reduce(concatenate(list(chunks), axis=axis))
