"""Waiting for many futures at once."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from freestone import _native
from freestone.client.future import Future
from freestone.client.pausing import IN_TASK, paused
from freestone.errors import WaitTimeoutError
from freestone.errors.habits import OF_AS_COMPLETED, OF_WAITING, missing_attribute
from freestone.errors.keywords import suggesting

__all__ = [
    "AsCompleted",
    "Callbacks",
    "DoneAndNotDone",
    "as_completed",
    "cancelling",
    "checked",
    "gather",
    "result_of",
    "wait",
]

T = TypeVar("T")
A = TypeVar("A", Future, _native.manager.SharedItem, _native.manager.LockHold)

ALL_COMPLETED = "ALL_COMPLETED"
FIRST_COMPLETED = "FIRST_COMPLETED"
FIRST_EXCEPTION = "FIRST_EXCEPTION"

_FOREVER = 1e9


class DoneAndNotDone(NamedTuple, Generic[T]):
    """What `wait` returns."""

    done: set[Future[T]]
    not_done: set[Future[T]]


class AsCompleted(Generic[T]):
    """Futures in the order in which they are done, for `for` and for `async for`.

    Made by `as_completed`.
    """

    def __init__(self, futures: Iterable[Future[T]], timeout_s: float | None) -> None:
        waiting = dict(enumerate(dict.fromkeys(checked(futures))))
        self._here = _completed(waiting, timeout_s)
        self._in_loop = _completed_in_loop(waiting, timeout_s)

    def __iter__(self) -> Iterator[Future[T]]:
        return self._here

    def __next__(self) -> Future[T]:
        return next(self._here)

    def __aiter__(self) -> AsyncIterator[Future[T]]:
        return self._in_loop

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute("what as_completed() returns", name, self, OF_AS_COMPLETED)


@suggesting(OF_WAITING)
def as_completed(futures: Iterable[Future[T]], timeout_s: float | None = None) -> AsCompleted[T]:
    """Yield futures in the order in which they are done, to `for` or to `async for`.

    Parameters
    ----------
    futures
        Each is yielded once, also if it was given twice.
    timeout_s
        The longest time for all, in seconds.

    Raises
    ------
    WaitTimeoutError
        When the time is over before all are done.
    """
    return AsCompleted(futures, timeout_s)


def _completed(waiting: dict[int, Future[T]], timeout_s: float | None) -> Iterator[Future[T]]:
    watch = _native.manager.Watch()
    for key, future in waiting.items():
        watch.add(future, key)
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while waiting:
        keys = watch.take(0.0)
        if not keys:
            with paused(_wanted(waiting)) if IN_TASK else nullcontext():
                keys = _take(watch, end)
        if not keys:
            raise WaitTimeoutError(timeout_s=timeout_s or 0.0, pending=len(waiting))
        for key in keys:
            yield waiting.pop(key)


async def _completed_in_loop(
    waiting: dict[int, Future[T]], timeout_s: float | None
) -> AsyncIterator[Future[T]]:
    import asyncio

    loop, done = asyncio.get_running_loop(), asyncio.Queue[int]()

    def report(key: int, _: Future[T]) -> None:
        # A loop that has ended waits for nothing.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(done.put_nowait, key)

    end = None if timeout_s is None else loop.time() + timeout_s
    forget = [
        future.client.subscribe(future, functools.partial(report, key))
        for key, future in waiting.items()
    ]
    try:
        while waiting:
            try:
                async with asyncio.timeout_at(end):
                    with paused(_wanted(waiting)) if IN_TASK and done.empty() else nullcontext():
                        key = await done.get()
            except TimeoutError:
                pending = len(waiting)
                raise WaitTimeoutError(timeout_s=timeout_s or 0.0, pending=pending) from None
            yield waiting.pop(key)
    finally:
        for each in forget:
            each()


def _wanted(waiting: dict[int, Future[T]]) -> str:
    """Say what is waited for, for people."""
    first = next(iter(waiting.values())).label
    return f"the result of {first!r}" if len(waiting) == 1 else f"one of {len(waiting):,} results"


def _take(watch: _native.manager.Watch, end: float | None) -> list[int]:
    """Wait for keys until `end`; none if it has come."""
    while True:
        left = _FOREVER if end is None else end - time.monotonic()
        keys = watch.take(min(max(left, 0.0), 0.05))
        if keys or left <= 0:
            return keys


@suggesting(OF_WAITING)
def wait(
    futures: Iterable[Future[T]],
    timeout_s: float | None = None,
    return_when: str = ALL_COMPLETED,
) -> DoneAndNotDone[T]:
    """Wait for futures, as `concurrent.futures.wait` does.

    Parameters
    ----------
    futures
        What to wait for.
    timeout_s
        The longest wait, in seconds; when it is over, what is done so far is returned.
    return_when
        ``ALL_COMPLETED``, ``FIRST_COMPLETED`` or ``FIRST_EXCEPTION``.
    """
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION):
        raise ValueError(
            f"return_when={return_when!r}: give {ALL_COMPLETED!r}, {FIRST_COMPLETED!r} "
            f"or {FIRST_EXCEPTION!r}"
        )
    futures = set(checked(futures))
    done: set[Future[T]] = set()
    try:
        for future in as_completed(futures, timeout_s):
            done.add(future)
            failed = return_when == FIRST_EXCEPTION and future.status == "failed"
            if failed or return_when == FIRST_COMPLETED:
                break
    except WaitTimeoutError:
        pass
    done |= {future for future in futures if future.done()}
    return DoneAndNotDone(done, futures - done)


@contextmanager
def cancelling(futures: Iterable[Any]) -> Iterator[None]:
    """Cancel calls that have not ended when what waits for them is interrupted, or fails.

    For calls which the very statement has submitted that waits for them: nobody else could.
    """
    try:
        yield
    except BaseException:
        pending = [one for one in futures if isinstance(one, Future) and not one.done()]
        if pending:
            pending[0].client.cancel(pending)
        raise


def result_of(calls: list[Any]) -> Any:
    """Return the result of the last of some calls; `cancelling` says for which.

    The others are let go of as they end, so that what has been merged does not take memory while
    others run. For that the list is emptied.
    """
    last, pending = calls[-1], set(calls)
    calls.clear()
    with cancelling(pending):
        if len(pending) > 1:
            for future in as_completed(pending):
                pending.discard(future)
                if future is last:
                    break
        return last.result()


def checked(futures: Iterable[Future[T]], action: str = "wait for") -> list[Future[T]]:
    """Return futures, to do something with; one by itself is a list of one.

    Raises
    ------
    TypeError
        If one is none, with what was to be done.
    """
    if isinstance(futures, Future):
        return [futures]
    given = list(futures)
    for future in given:
        if not isinstance(future, Future):
            raise TypeError(
                f"{future!r:.80} ({type(future).__name__}) is no future to {action}; give a "
                "list of what cluster.submit() and cluster.map() return"
            )
    return given


@suggesting(OF_WAITING)
def gather(futures: Any, *, errors: str = "raise") -> Any:
    """Return the values of futures, in the shape in which they are given.

    Parameters
    ----------
    futures
        A future, or lists, tuples, sets and dicts of them; any other iterable, such as a generator,
        gives a list.
    errors
        ``"raise"`` the first error, or ``"skip"`` failed futures in lists, tuples and sets.

    Raises
    ------
    TypeError
        For a value among them that is no future.
    """
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors={errors!r}: give 'raise' or 'skip'")
    return _values(_listed(futures), errors)


def _listed(futures: Any) -> Any:
    """Return futures in their shape, with lists for what is neither list, tuple, set nor dict."""
    # Pieces of blocks, too, give a result.
    if isinstance(futures, Future) or callable(getattr(futures, "result", None)):
        return futures
    if isinstance(futures, Mapping):
        return {key: _listed(value) for key, value in futures.items()}
    if isinstance(futures, str | bytes) or not isinstance(futures, Iterable):
        raise TypeError(
            f"gather() takes a future, or futures in lists, dicts and other iterables, no value "
            f"of type {type(futures).__name__}: {futures!r:.100}"
        )
    parts = [one if type(one) is Future else _listed(one) for one in futures]
    return _as(futures, parts) if isinstance(futures, tuple | set | frozenset) else parts


def _values(futures: Any, errors: str) -> Any:
    if isinstance(futures, Mapping):
        return {key: _values(value, errors) for key, value in futures.items()}
    if not isinstance(futures, list | tuple | set | frozenset):
        return futures.result()
    values = []
    for future in futures:
        try:
            values.append(_values(future, errors))
        except Exception:
            if errors == "raise":
                raise
    return values if isinstance(futures, list) else _as(futures, values)


def _as(like: Any, values: list[Any]) -> Any:
    """Return values as a tuple or set of the type of another one."""
    if hasattr(like, "_fields") and len(values) == len(like):
        return type(like)(*values)
    return tuple(values) if hasattr(like, "_fields") else type(like)(values)


class Callbacks:
    """Calls functions when futures are done, or entries of shared state have their answer.

    That is on a thread that starts with the first of them.
    """

    def __init__(self) -> None:
        self._watch = _native.manager.Watch()
        self._waiting: dict[int, tuple[Any, Callable[[Any], object]]] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._thread: threading.Thread | None = None
        self._ended = False

    def add(self, awaited: A, callback: Callable[[A], object]) -> Callable[[], object]:
        """Call `callback(awaited)` once it is resolved; what this returns takes that back."""
        with self._lock:
            key = self._count
            self._count += 1
            self._waiting[key] = (awaited, callback)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="freestone-callbacks", daemon=True
                )
                self._thread.start()
        self._watch.add(awaited, key)
        return functools.partial(self._discard, key)

    def _discard(self, key: int) -> None:
        with self._lock:
            self._waiting.pop(key, None)

    def close(self) -> None:
        """End the thread after the callbacks whose futures are done."""
        self._ended = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._watch.push(-1 % 2**64)
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while True:
            keys = self._watch.take(1.0)
            for key in keys:
                self._call(key)
            if self._ended and (not keys or not self._waiting):
                return

    def _call(self, key: int) -> None:
        with self._lock:
            awaited, callback = self._waiting.pop(key, (None, None))
        if awaited is None or callback is None:
            return
        try:
            callback(awaited)
        except Exception:
            logging.getLogger("freestone").exception("a callback of %r raised", awaited)
