"""Functions that are run as tasks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, overload

Function = Callable[..., Any]
_NAMED = 5


class Task:
    """A function that is run as a task: called with one event for each dependency.

    Made by `task`. Calling it runs the function at once, as if it were not a task.

    Attributes
    ----------
    function : callable
        The function itself.
    label : str
        How reports and traces call it.
    """

    __slots__ = ("function", "label")

    def __init__(self, function: Function, label: str) -> None:
        self.function: Function = function
        self.label: str = label

    def __call__(self, *events: Any) -> Any:
        """Run the function here and now."""
        return self.function(*events)

    def __repr__(self) -> str:
        return f"<Task {self.label}>"


@overload
def task(function: Function) -> Task: ...
@overload
def task(*, name: str | None = None) -> Callable[[Function], Task]: ...
def task(
    function: Function | None = None, *, name: str | None = None
) -> Task | Callable[[Function], Task]:
    """Mark a function as a task.

    Parameters
    ----------
    function : callable
        Takes one positional argument for each event that it depends on, in the order of the
        dependencies; a greedy task all events, by dependency, then by arrival.
    name : str, optional
        What reports call it; the function's name if not given.

    Returns
    -------
    Task

    Examples
    --------
    >>> @task
    ... def total(a, b):
    ...     return a + b
    >>> total, total(1, 2)
    (<Task total>, 3)
    """
    if function is None:
        return lambda function: Task(function, name or label_of(function))
    return Task(function, name or label_of(function))


def label_of(function: Function) -> str:
    """Return what reports call a function."""
    label = getattr(function, "label", None) or getattr(function, "__qualname__", None)
    return str(label or type(function).__name__)


def takes(function: FunctionType, count: int) -> bool | None:
    """Tell whether a function can be called with so many arguments; None if with any number."""
    code = function.__code__
    if code.co_flags & inspect.CO_VARARGS:
        return None
    return code.co_argcount - len(function.__defaults__ or ()) <= count <= code.co_argcount


def check_count(function: FunctionType, label: str, ids: Sequence[str]) -> None:
    """Refuse a function that can't be called with one argument for each of these events."""
    if takes(function, len(ids)) is not False:
        return
    code = function.__code__
    least, most = code.co_argcount - len(function.__defaults__ or ()), code.co_argcount
    has = f"{most}" if least == most else f"{least} to {most}"
    listed = ", ".join(map(repr, ids[:_NAMED])) or "none"
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    raise TypeError(
        f"the task {label!r} ({code.co_filename}:{code.co_firstlineno}) has {has} parameters, "
        f"and the events that it depends on are {len(ids)}: {listed}{more}; give it one parameter "
        "for each, or *events"
    )
