"""Tasks: functions whose calls go to the cluster that is open."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Self, overload

from freestone import functions
from freestone.cluster import Cluster, current
from freestone.finished import value_here
from freestone.options import check_options
from freestone.usage import check_function, refuse_method, refuse_nesting, rows

__all__ = ["Task", "task"]


class Task:
    """A function whose call gives a future when a cluster is open, and its value when none is.

    Made by the decorator `task`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        check_function(function)
        check_options(options)
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in the open cluster, or here if there is none."""
        cluster = self._cluster()
        if cluster is None:
            return self.function(*value_here(args), **value_here(kwargs))
        return cluster._submit(self.function, args, kwargs, self._options)

    def map(self, *iterables: Any) -> list[Any]:
        """Call the function with each element, as the builtin `map` does; a list."""
        cluster, calls = self._cluster(), rows(iterables)
        if cluster is None:
            return [self.function(*args) for args in calls]
        return list(cluster._map(self.function, calls, self._options))

    def options(self, **options: Any) -> Task:
        """Return the same task with other options; see `Cluster.submit`."""
        return Task(self.function, **{**self._options, **options})

    def _cluster(self) -> Cluster | None:
        cluster = current()
        if cluster is None and functions.in_executor() and not _is_caller_ours():
            refuse_nesting(self.function)
        return cluster

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        if instance is not None:
            refuse_method(self.function, instance)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.function, self._options)

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self._options.items())
        return f"<freestone.Task {self.function.__qualname__}{options}>"


def _is_caller_ours() -> bool:
    """Tell whether the runtime itself calls a task: what was submitted, reduced by, or mapped."""
    caller = sys._getframe()
    while caller.f_code.co_filename == __file__:
        if caller.f_back is None:
            return True
        caller = caller.f_back
    package = caller.f_globals.get("__package__") or ""
    return bool(package.partition(".")[0] == "freestone")


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> Task:
    return Task(function, **options)


@overload
def task(function: Callable[..., Any], /) -> Task: ...


@overload
def task(**options: Any) -> Callable[[Callable[..., Any]], Task]: ...


def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a task: with a cluster open, its calls give futures.

    Parameters
    ----------
    function
        The function.
    **options
        Those of `Cluster.submit`: name, priority, resources, retries, timeout_s, isolation,
        keep, pure, replicas, environment, env, tag, worker.

    Examples
    --------
    >>> import freestone as fs
    >>> @fs.task(retries=2)
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    if function is None:
        return functools.partial(task, **options)
    return Task(function, **options)
