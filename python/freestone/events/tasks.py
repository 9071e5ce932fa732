"""Functions that are run as tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

Function = Callable[..., Any]


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
