"""A cluster of threads that sends functions and arguments through bytes."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Iterable
from typing import Any

from freestone.errors import TaskCancelledError
from freestone.functions import encode, load


class FakeFuture:
    def __init__(self, outer: concurrent.futures.Future[Any]) -> None:
        self.outer = outer
        self.is_cancelled = False
        self.callbacks: list[Callable[[FakeFuture], object]] = []

    def add_done_callback(self, callback: Callable[[FakeFuture], object]) -> None:
        self.outer.add_done_callback(lambda _: callback(self))

    def result(self, timeout_s: float | None = None) -> Any:
        return self.outer.result(timeout_s)

    def done(self) -> bool:
        return self.outer.done()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def cancel(self) -> bool:
        if self.outer.done():
            return self.is_cancelled
        self.is_cancelled = True
        self.outer.set_exception(TaskCancelledError(label="fake"))
        return True


class FakeCluster:
    """Runs calls on threads; ends them only when they look at `FakeCluster.cancelled`."""

    def __init__(self, slots: int = 2) -> None:
        self.slots = slots
        self.closed = False
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self.puts: list[Any] = []
        self.pool = concurrent.futures.ThreadPoolExecutor(slots)
        self.client = FakeClient(self)

    def submit(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        priority: int = 0,
        retries: int = 0,
        pure: bool = True,
        **kwargs: Any,
    ) -> FakeFuture:
        self.calls.append((function, args, {"name": name, "priority": priority, "pure": pure}))
        future = FakeFuture(concurrent.futures.Future())
        definition = encode(function).definition
        self.pool.submit(self._run, future, definition, args, kwargs)
        return future

    def _run(
        self, future: FakeFuture, definition: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if future.done():
            return
        fulfil: Callable[[Any], None] = future.outer.set_result
        try:
            value = load(definition)(*map(self._value, args), **kwargs)
        except BaseException as error:
            value, fulfil = error, future.outer.set_exception
        try:
            fulfil(value)
        except concurrent.futures.InvalidStateError:
            assert future.is_cancelled

    def _value(self, value: Any) -> Any:
        if isinstance(value, FakeFuture):
            return value.result()
        return [self._value(item) for item in value] if isinstance(value, list) else value

    def put(self, value: Any) -> FakeFuture:
        self.puts.append(value)
        view = value.view()
        view.flags.writeable = False
        future = FakeFuture(concurrent.futures.Future())
        future.outer.set_result(view)
        return future

    def cancel(self, futures: Iterable[FakeFuture]) -> None:
        for future in futures:
            future.cancel()

    def close(self) -> None:
        self.pool.shutdown()


class FakeClient:
    """What the surfaces ask a `FakeCluster` by."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.put, self.cancel = cluster.put, cluster.cancel

    @property
    def slots(self) -> int:
        return self.cluster.slots

    def submit(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: dict[str, Any],
    ) -> FakeFuture:
        return self.cluster.submit(function, *args, **kwargs, **options)


class Gate:
    """Holds calls back until it is opened."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.opened = threading.Event()

    def wait(self) -> None:
        self.begun.release()
        assert self.opened.wait(30)
