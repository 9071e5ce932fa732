"""Tasks: functions whose calls go to the cluster that is open."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from freestone import functions
from freestone.client.finished import value_here
from freestone.client.opened import current
from freestone.client.options import CallOptions, check_options
from freestone.client.usage import check_function, refuse_method, rows
from freestone.errors.habits import OF_TASK, missing_attribute

if TYPE_CHECKING:
    from typing import Unpack

    from freestone.client.future import Future
    from freestone.client.interface import Client

__all__ = ["Task", "task"]

P = ParamSpec("P")
T = TypeVar("T")


class Task(Generic[P, T]):
    """A function whose call gives a future when a cluster is open, and its value when none is.

    Made by the decorator `task`. Checkers of types take each call for a future.
    """

    def __init__(self, function: Callable[P, T], **options: Unpack[CallOptions]) -> None:
        check_function(function)
        check_options(options)
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function in the open cluster, or here if there is none."""
        client = self._client()
        if client is None:
            here: Any = self.function(*value_here(args), **value_here(kwargs))
            return here  # type: ignore[no-any-return]
        future: Future[T] = client.submit(self.function, args, kwargs, self._options)
        return future

    @property
    def label(self) -> str:
        """The name of its calls, for people."""
        return self._options.get("name") or functions.label_of(self.function)

    @property
    def is_coroutine_function(self) -> bool:
        """Whether the function is async: without a cluster its call makes a coroutine."""
        return functions.is_coroutine_function(self.function)

    def map(self, *iterables: Iterable[Any]) -> list[Future[T]]:
        """Call the function with each element, as the builtin `map` does; a list."""
        client, calls = self._client(), rows(iterables)
        if client is None:
            function: Callable[..., Any] = self.function
            return [function(*args) for args in calls]
        return client.map(self.function, calls, self._options)

    def options(self, **options: Unpack[CallOptions]) -> Task[P, T]:
        """Return the same task with other options; see `Cluster.submit`."""
        merged: CallOptions = {**self._options, **options}
        return Task(self.function, **merged)

    def _client(self) -> Client | None:
        client = current()
        if client is None and functions.in_executor() and not _is_caller_ours():
            from freestone.client import nested

            return nested.client()
        return client

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute("a Task", name, self, OF_TASK)

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


def _rebuild(function: Callable[P, T], options: CallOptions) -> Task[P, T]:
    return Task(function, **options)


@overload
def task(function: Callable[P, Coroutine[Any, Any, T]], /) -> Task[P, T]: ...


@overload
def task(function: Callable[P, T], /) -> Task[P, T]: ...


@overload
def task(**options: Unpack[CallOptions]) -> Callable[[Callable[P, T]], Task[P, T]]: ...


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
