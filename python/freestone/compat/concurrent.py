"""A cluster as an executor of ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, TypeVar

from freestone.errors.habits import OF_EXECUTOR
from freestone.errors.keywords import refuse_keywords

__all__ = ["Executor", "follow"]

T = TypeVar("T")


class _Explains(Protocol):
    @property
    def explain(self) -> Callable[..., Any]: ...


class _Inner(Protocol):
    @property
    def client(self) -> _Explains: ...
    def add_done_callback(self, callback: Callable[[Any], object]) -> None: ...
    def result(self) -> Any: ...
    def cancel(self) -> bool: ...
    def cancelled(self) -> bool: ...


class _Submits(Protocol):
    @property
    def submit(self) -> Callable[..., Any]: ...


class _Future(concurrent.futures.Future[T]):
    """A future of ``concurrent.futures`` that follows one of the cluster's."""

    _inner: _Inner

    def follow(self, inner: _Inner) -> None:
        """Resolve when the cluster's future does."""
        self._inner = inner
        inner.add_done_callback(self._fulfil)

    def cancel(self) -> bool:
        """Cancel the call, also while it runs."""
        if self.done():
            return self.cancelled()
        self._inner.cancel()
        return self._cancel_here()

    def running(self) -> bool:
        """Ask the cluster whether the call has a slot of a worker, and has not ended."""
        if self.done():
            return False
        is_running: bool = self._inner.client.explain(self._inner).is_running
        return is_running and not self.done()

    def __reduce__(self) -> tuple[Any, ...]:
        # As an argument of a call it stands for its value, as the cluster's futures do.
        return _value_of, (self._inner,)

    def _cancel_here(self) -> bool:
        with self._condition:
            was_cancelled = self.cancelled()
            now_cancelled = super().cancel()
        if now_cancelled and not was_cancelled:
            self.set_running_or_notify_cancel()
        return now_cancelled

    def _fulfil(self, inner: _Inner) -> None:
        try:
            if inner.cancelled():
                self._cancel_here()
                return
            value = inner.result()
        except BaseException as error:
            self._finish(super().set_exception, error)
        else:
            self._finish(super().set_result, value)

    def set_result(self, result: T) -> None:
        """Refuse: the call gives the future its value."""
        raise _given_by_call("set_result")

    def set_exception(self, exception: BaseException | None) -> None:
        """Refuse: the call gives the future its error."""
        raise _given_by_call("set_exception")

    def _finish(self, resolve: Callable[[Any], None], outcome: Any) -> None:
        try:
            resolve(outcome)
        except concurrent.futures.InvalidStateError:
            # It was cancelled while its call ended.
            if not self.cancelled():
                raise


def _given_by_call(name: str) -> concurrent.futures.InvalidStateError:
    return concurrent.futures.InvalidStateError(
        f"{name}: a future of cluster.executor() gets its value or error from its call; cancel() "
        "ends that, and concurrent.futures.Future() is one that a program sets"
    )


def _value_of(value: Any) -> Any:
    return value


def follow(inner: _Inner) -> concurrent.futures.Future[Any]:
    """Return a future of ``concurrent.futures`` that resolves when the cluster's does."""
    future: _Future[Any] = _Future()
    future.follow(inner)
    return future


class Executor(concurrent.futures.Executor):
    """Runs calls on a cluster.

    Parameters
    ----------
    cluster : Cluster
        Where calls go. It stays open when the executor is shut down.
    **options
        Options of ``Cluster.submit`` for every call. ``pure`` is False by default, so that every
        call runs, as with any other executor.

    Raises
    ------
    TypeError
        For options that there are not.

    Notes
    -----
    Futures are those of ``concurrent.futures``, so that its ``wait`` and ``as_completed`` and
    ``asyncio.wrap_future`` take them. Unlike the standard library's, ``cancel`` also ends a call
    that runs, and arguments are sent to other processes.

    Examples
    --------
    >>> with cluster.executor() as executor:  # doctest: +SKIP
    ...     list(executor.map(pow, [2, 3], [4, 5]))
    [16, 243]
    """

    def __init__(self, cluster: _Submits, **options: Any) -> None:
        known = inspect.signature(cluster.submit).parameters.values()
        self._options = {entry.name for entry in known if entry.kind is entry.KEYWORD_ONLY}
        unknown = {key: value for key, value in options.items() if key not in self._options}
        refuse_keywords("executor", sorted(self._options), unknown, OF_EXECUTOR)
        self._submit = functools.partial(cluster.submit, **{"pure": False, **options})
        self._lock = threading.Lock()
        self._open = True
        self._pending: set[_Future[Any]] = set()

    def submit(
        self, fn: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[T]:
        """Submit a call.

        Raises
        ------
        RuntimeError
            After `shutdown`.
        """
        future: _Future[T] = _Future()
        with self._lock:
            if not self._open:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not self._options.isdisjoint(kwargs):
                # What the call takes by the name of an option must not be taken for one.
                fn, kwargs = functools.partial(fn, **kwargs), {}
            inner = self._submit(fn, *args, **kwargs)
            self._pending.add(future)
        future.follow(inner)
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._pending.discard(future)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **more: Any,
    ) -> Iterator[T]:
        """Run a call for each element; give the results in order.

        Parameters
        ----------
        fn : callable
            What to call.
        *iterables : iterable
            The arguments; the shortest decides how many calls there are.
        timeout : float, optional
            Seconds from now until which all results must be there.
        chunksize : int
            How many elements one call of the cluster takes; 1 keeps them apart.
        **more
            What later versions of Python know, such as ``buffersize``.

        Raises
        ------
        TimeoutError
            From the iterator, when the time is over.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout, **more)
        chunks = _chunks(zip(*iterables, strict=False), chunksize)
        call = functools.partial(_run_chunk, fn)
        results = super().map(call, chunks, timeout=timeout, **more)
        return itertools.chain.from_iterable(results)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # After Ctrl-C nobody wants to wait for the calls that run.
        is_ending = kind is not None and not issubclass(kind, Exception)
        self.shutdown(wait=not is_ending, cancel_futures=is_ending)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls.

        Parameters
        ----------
        wait : bool
            Whether to wait for those that were submitted.
        cancel_futures : bool
            Whether to cancel them, also those that run.
        """
        with self._lock:
            self._open = False
            pending = list(self._pending)
        if cancel_futures:
            for future in pending:
                future.cancel()
        if wait:
            concurrent.futures.wait(pending)


def _chunks(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    iterator = iter(items)
    while chunk := tuple(itertools.islice(iterator, size)):
        yield chunk


def _run_chunk(function: Callable[..., T], chunk: Iterable[tuple[Any, ...]]) -> list[T]:
    return [function(*arguments) for arguments in chunk]
