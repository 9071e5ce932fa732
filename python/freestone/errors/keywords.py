"""Suggestions for keywords that a call does not have: the closest, or what to write instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from reprlib import repr as shown
from typing import Any, TypeVar, cast

from freestone.errors.base import did_you_mean
from freestone.errors.habits import OF_TIMES

__all__ = ["refuse_keywords", "suggest_keywords", "suggesting"]

T = TypeVar("T", bound=Callable[..., Any])


def suggesting(hints: Mapping[str, str]) -> Callable[[T], T]:
    """Return `suggest_keywords` with hints on keywords that other libraries have."""

    def decorate(callee: T) -> T:
        if isinstance(callee, type):
            for name, member in list(vars(callee).items()):
                if name == "__init__" or not name.startswith("_"):
                    setattr(callee, name, _member(member, hints))
            return callee
        return cast("T", _function(callee, hints))

    return decorate


def suggest_keywords(callee: T) -> T:
    """Let a function, or the methods of a class that are public, name the closest keyword.

    For what isn't called in a loop: it takes another call of Python's, a tenth of a microsecond.

    Examples
    --------
    >>> @suggest_keywords
    ... def split(x, per="core"): ...
    >>> split([], pre="worker")
    Traceback (most recent call last):
      ...
    TypeError: split() has no argument pre='worker'; did you mean 'per'?
    """
    return suggesting(OF_TIMES)(callee)


def refuse_keywords(
    name: str,
    known: Sequence[str],
    unknown: Mapping[str, object],
    hints: Mapping[str, str] = OF_TIMES,
) -> None:
    """Refuse keywords that a call does not have.

    Parameters
    ----------
    name
        The function's name.
    known
        The keywords that it has.
    unknown
        Those that it does not have, and their values.
    hints
        What to write instead of some, where ``{value}`` stands for the value.

    Raises
    ------
    TypeError
        For the first one.
    """
    for key, value in unknown.items():
        if hint := hints.get(key):
            advice = f"; {hint.format(value=shown(value))}"
        else:
            advice = did_you_mean(key, known) or f"; there are {', '.join(known)}"
        raise TypeError(f"{name}() has no argument {key}={shown(value)}{advice}")


def _member(member: Any, hints: Mapping[str, str]) -> Any:
    if isinstance(member, classmethod):
        return classmethod(_function(member.__func__, hints))
    return _function(member, hints) if inspect.isfunction(member) else member


def _function(function: Callable[..., Any], hints: Mapping[str, str]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function
    if all(parameter.default is parameter.empty for parameter in parameters):
        return function
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [
        its.name for its in parameters if its.kind in named and its.name not in ("self", "cls")
    ]
    accepted = frozenset(known)
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if not accepted.issuperset(keywords):
            unknown = {key: value for key, value in keywords.items() if key not in accepted}
            refuse_keywords(name, known, unknown, hints)
        return function(*args, **keywords)

    return call
