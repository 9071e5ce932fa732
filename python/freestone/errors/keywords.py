"""Suggestions for misspelt keywords, which Python gives by itself from 3.13 on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from freestone.errors.base import did_you_mean

__all__ = ["suggest_keywords"]

T = TypeVar("T", bound=Callable[..., Any])


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
    TypeError: split() got an unexpected keyword argument 'pre'; did you mean 'per'?
    """
    if isinstance(callee, type):
        for name, member in list(vars(callee).items()):
            if name == "__init__" or not name.startswith("_"):
                setattr(callee, name, _member(member))
        return callee
    return cast("T", _function(callee))


def _member(member: Any) -> Any:
    if isinstance(member, classmethod):
        return classmethod(_function(member.__func__))
    return _function(member) if inspect.isfunction(member) else member


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [parameter.name for parameter in parameters if parameter.kind in named]
    if all(parameter.default is parameter.empty for parameter in parameters):
        return function

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for key in keywords:
            if key not in known:
                hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
                problem = f"{function.__qualname__}() got an unexpected keyword argument {key!r}"
                raise TypeError(problem + hint)
        return function(*args, **keywords)

    return call
