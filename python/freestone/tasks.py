"""Tasks: functions whose calls go to the cluster that is open."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from freestone.cluster import current
from freestone.finished import value_here

__all__ = ["Task", "task"]


class Task:
    """A function whose call gives a future when a cluster is open, and its value when none is.

    Made by the decorator `task`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in the open cluster, or here if there is none."""
        cluster = current()
        if cluster is None:
            return self.function(*value_here(args), **value_here(kwargs))
        return cluster._submit(self.function, args, kwargs, self._options)

    def map(self, *iterables: Any) -> list[Any]:
        """Call the function with each element, as the builtin `map` does; a list."""
        cluster = current()
        if cluster is None:
            return list(map(self.function, *iterables))
        return list(cluster.map(self.function, *iterables, **self._options))

    def options(self, **options: Any) -> Task:
        """Return the same task with other options; see `Cluster.submit`."""
        return Task(self.function, **{**self._options, **options})

    def __reduce__(self) -> tuple[Any, ...]:
        # On a worker it is a plain function: calls inside calls are not calls of the cluster.
        return _rebuild, (self.function, self._options)

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self._options.items())
        return f"<freestone.Task {self.function.__qualname__}{options}>"


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
