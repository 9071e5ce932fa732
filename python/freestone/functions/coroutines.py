"""Coroutine functions, as executors call them: to their end."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["is_coroutine_function", "runnable"]


def is_coroutine_function(function: object) -> bool:
    """Tell whether the call of a function, method, partial or callable object makes a coroutine."""
    while isinstance(function, functools.partial):
        function = function.func
    if getattr(function, "is_coroutine_function", False) is True:
        return True
    if isinstance(function, type) or not callable(function):
        return False
    call = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def runnable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what gives a function's value when it is called, that of a coroutine function, too.

    Notes
    -----
    Each call of a coroutine function has an event loop of its own, about 0.1 ms.
    """
    if not is_coroutine_function(function):
        return function
    import asyncio

    def run(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(function(*args, **kwargs))

    return run
