"""Streams: futures of what a generator yields, while it runs on a worker.

See docs/decisions/078-a-stream-is-a-queue-that-ends-with-its-reader.md
"""

from __future__ import annotations

import secrets
import threading
import weakref
from collections import deque
from collections.abc import (
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self

from freestone import _native, functions
from freestone.client.generic import T
from freestone.client.named import Named, as_future, has_answer, leaving
from freestone.client.pausing import awaited, until_resolved
from freestone.client.queues import MAX_ITEMS
from freestone.client.usage import check_function, refuse_ambiguous
from freestone.errors import (
    ClosedError,
    InputLostError,
    QueueClosedError,
    StreamRestartedError,
    UsageError,
)

if TYPE_CHECKING:
    from freestone.client.future import Future
    from freestone.client.local import LocalClient

__all__ = ["Stream", "stream"]

_REFUSED = {
    "keep": "an element stays while a future refers to it, and longer by cluster.publish",
    "replicas": "its elements are put by the generator, each on the worker where that runs",
    "environment": "its generator puts elements, for which it needs a process of the cluster",
}
_END: Any = object()


class Stream(Generic[T]):
    """Futures of what a generator yields, for ``for`` and ``async for``; from `Cluster.stream`.

    They come in the order of the generator, while it runs. It is closed with the stream: by
    `close`, or when nothing refers to the stream any more.

    Attributes
    ----------
    label : str
        The generator's name, for people.
    """

    def __init__(self, client: LocalClient, call: Future[int], title: str, *, pure: bool) -> None:
        self.label: str = call.label
        self._client = client
        self._call = call
        self._title = title
        self._may_restart = pure
        self._count = 0
        self._ready: deque[Future[T]] = deque()
        self._asked = threading.Lock()
        self._wanted = f"an element of the stream {call.label!r}"

    def _open(self, entry: _native.manager.SharedItem) -> None:
        """Have the queue end with this object, and be at its end when the call has ended."""
        self._end = weakref.finalize(self, entry.leave)
        self._end.atexit = False
        manager, title = self._client.manager, self._title
        self._client.subscribe(
            self._call, lambda _: _native.manager.close_queue(manager, title, None)
        )

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Future[T]:
        with self._alone():
            while not self._ready:
                entry = self._take()
                if entry is None:
                    raise StopIteration
                with leaving(entry):
                    has_answer(entry, None, self._wanted)
                self._receive(entry)
            return self._ready.popleft()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Future[T]:
        with self._alone():
            while not self._ready:
                entry = self._take()
                if entry is None:
                    raise StopAsyncIteration
                with leaving(entry):
                    await until_resolved(self._client.subscribe, entry, self._wanted)
                self._receive(entry)
            return self._ready.popleft()

    def close(self) -> None:
        """Have the generator close, and give no more elements.

        It gets `GeneratorExit` where it yields next, as any generator that is closed, so that its
        ``finally`` blocks run. What was taken stays. It has no effect on a stream at its end.
        """
        self._end()
        self._ready.clear()

    def cancel(self) -> None:
        """End the generator at once, as `Future.cancel` does a call, also while it computes."""
        self.close()
        self._call.cancel()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._asked.acquire(blocking=False):
            problem = f"another thread or coroutine waits for {self._wanted}"
            raise UsageError(f"{problem}: one takes them; others may get them from a queue")
        try:
            yield
        finally:
            self._asked.release()

    def _take(self) -> _native.manager.SharedItem | None:
        """Ask for the next element; None at the end."""
        if not self._end.alive:
            return None
        client = self._client
        client.require_open(f"take {self._wanted}")
        return _native.manager.SharedItem.take(
            client.manager, self._title, None, client.task_worker
        )

    def _receive(self, entry: _native.manager.SharedItem) -> None:
        """Keep the element that comes next; raise if there is none because the call has failed."""
        if entry.item is not None:
            self._accept(entry, *entry.item)
        elif entry.state[0] == "closed_queue":
            self._finish()
        else:
            action = f"wait for {self._wanted}"
            self._client.require_open(action)
            raise ClosedError(action)

    def _accept(self, entry: _native.manager.SharedItem, name: bytes, label: str) -> None:
        if _index_of(label) != self._count:
            # The generator runs again.
            entry.finish()
            if not self._may_restart:
                self._fail()
            return
        future: Future[T] = self._client.manager.watch(name, label)
        # First of all: what interrupts the rest must not lose it.
        self._ready.append(future)
        self._count += 1
        entry.finish()
        if self._comes_again(future):
            self._ready.clear()
            self._count -= 1

    def _comes_again(self, future: Future[T]) -> bool:
        """Tell whether an element was lost with its worker while the generator ran there."""
        if future.status != "failed" or not self._may_restart or self._call.done():
            return False
        return isinstance(future.exception(), InputLostError)

    def _finish(self) -> None:
        """Raise what the call has failed with, if it has, now that all elements were taken."""
        if self._end.alive:
            self.close()
            if self._call.result() != self._count:
                self._fail()

    def _fail(self) -> NoReturn:
        self.cancel()
        raise StreamRestartedError(label=self.label, taken=self._count)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a stream is read where it was opened: pass its futures to calls, or have the "
            "generator put into a queue, which is the same everywhere"
        )

    def __repr__(self) -> str:
        state = "open" if self._end.alive else "closed"
        return f"<freestone.Stream {self.label!r}: {state}, {self._count:,} taken>"


def stream(
    client: LocalClient,
    function: Callable[..., Any],
    args: Sequence[Any],
    look_ahead: int,
    options: Mapping[str, Any],
) -> Stream[Any]:
    """Run a generator on a worker; see `Cluster.stream`."""
    check_function(function, may_yield=True)
    refuse_ambiguous(function, [*options, "look_ahead"], len(args), "stream")
    for key, reason in _REFUSED.items():
        if key in options:
            raise TypeError(f"a stream has no option {key}=: {reason}")
    if type(look_ahead) is not int or not 0 < look_ahead <= MAX_ITEMS:
        problem = f"look_ahead={look_ahead!r:.80}: give how many elements may wait to be taken"
        raise ValueError(f"{problem}, a whole number from 1 to {MAX_ITEMS:,}")
    client.require_open("open a stream")
    title = f"stream {secrets.token_hex(16)}"
    label = options.get("name") or functions.label_of(function)
    # Whether its elements may come from two runs, who reads them sees.
    call_options = {**options, "name": label, "pure": False, "rerun": True}
    entry = _native.manager.SharedItem.open(client.manager, title, look_ahead, client.task_worker)
    try:
        call = client.submit(_Generator(function, label), (title, *args), {}, call_options)
    except BaseException:
        entry.leave()
        raise
    made: Stream[Any] = Stream(client, call, title, pure=options.get("pure", True))
    made._open(entry)
    return made


class _Generator:
    """Runs a generator in a call, and puts what it yields into the queue of a stream."""

    def __init__(self, function: Callable[..., Any], label: str) -> None:
        self._function = function
        self._label = label

    def __call__(self, title: str, *args: Any) -> int:
        """Return how many elements there were, of which the stream has the last when it is open."""
        queue, count = _Elements(title), 0
        with closing(_elements(functions.runnable(self._function)(*args), self._label)) as elements:
            for element in elements:
                if not queue.put(element, _label_of(self._label, count)):
                    break
                count += 1
        return count


class _Elements(Named):
    """The queue of a stream, as its generator has it."""

    def __init__(self, title: str) -> None:
        super().__init__(None, title)

    def put(self, value: Any, label: str) -> bool:
        """Append an element once there is room; whether the stream is open still."""
        client = self._open("put into")
        try:
            future = as_future(client, value)
        except Exception as error:
            error.add_note(f"it is {label!r}, an element of a stream")
            raise
        entry = _native.manager.SharedItem.put(
            client.manager, self.name, None, future, client.task_worker, label
        )
        wanted = f"room for {label!r} in its stream"
        try:
            self._await(entry, client, None, wanted)
            self._check(entry.state, client, wanted, future)
        except QueueClosedError:
            return False
        return True


def _elements(made: Any, label: str) -> Generator[Any, None, None]:
    """Iterate over what a function has made, which is closed with what this returns."""
    if isinstance(made, AsyncIterable):
        yield from _stepped(made)
    elif isinstance(made, Iterable):
        yield from made
    else:
        problem = (
            f"a stream takes a function that yields, or returns what can be iterated over: {label}"
        )
        raise TypeError(f"{problem} returned {made!r:.80} ({type(made).__name__})")


def _stepped(elements: AsyncIterable[T]) -> Generator[T, None, None]:
    """Iterate over an async generator, in an event loop that runs for one element at a time."""
    import asyncio

    iterator = aiter(elements)
    with asyncio.Runner() as runner:
        try:
            while (element := runner.run(awaited(anext(iterator, _END)))) is not _END:
                yield element
        finally:
            if (close := getattr(iterator, "aclose", None)) is not None:
                runner.run(awaited(close()))


def _label_of(label: str, index: int) -> str:
    return f"{label}[{index}]"


def _index_of(label: str) -> int:
    return int(label[label.rindex("[") + 1 : -1])
