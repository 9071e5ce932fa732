"""Queues that programs and tasks share by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic

from freestone import _native
from freestone.client.future import Future
from freestone.client.generic import T
from freestone.client.named import Named, as_future, check_timeout, end_of, leaving, queue_of
from freestone.errors import QueueClosedError
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["Queue"]

MAX_ITEMS = 2**32 - 1
"""The most that `maxsize` may be: the manager counts in 32 bits."""


@suggest_keywords
class Queue(Named, Generic[T]):
    """A queue of a cluster, from `Cluster.queue`: what is put first is taken first.

    Sent to a task it is the same queue there. ``for item in queue`` takes items until it is closed
    and empty.
    """

    def __init__(self, client: LocalClient | None, name: str, maxsize: int = 0) -> None:
        super().__init__(client, name)
        if type(maxsize) is not int or not 0 <= maxsize <= MAX_ITEMS:
            problem = f"queue({name!r:.80}, maxsize={maxsize!r:.80}): maxsize is a whole number"
            raise ValueError(f"{problem} from 0, for any number of items, to {MAX_ITEMS:,}")
        self.maxsize: int = maxsize

    def put(self, value: T | Future[T], *, timeout_s: float | None = None) -> None:
        """Append a value; wait while `maxsize` items are in the queue.

        Parameters
        ----------
        value
            The item. For a future it is the future's value: who takes the item waits for it, and
            gets the error if its task has failed.
        timeout_s
            How long to wait for room, in seconds; None waits for as long as it takes.

        Raises
        ------
        SharedTimeoutError
            When there was no room for all the time.
        QueueClosedError
            When it is closed, or is during the wait.
        SharedKindError
            When the queue is in use with another `maxsize`.

        Notes
        -----
        A message to the manager and its answer. Small values are kept by the manager, large ones
        are blocks in the cache of a worker. A task that is tried again puts again what it had put.
        """
        check_timeout(timeout_s)
        client = self._open("put into")
        future = as_future(client, value)
        entry = _native.manager.SharedItem.put(
            client.manager, self.name, self.maxsize, future, client.task_worker
        )
        wanted = f"room in the queue {self.name!r}"
        self._await(entry, client, timeout_s, wanted)
        self._check(entry.state, client, wanted, future)

    def get(self, *, timeout_s: float | None = None) -> T:
        """Take the first item and return its value; wait while there is none.

        Parameters
        ----------
        timeout_s
            How long to wait for an item, and for its value if a future was put, in seconds; None
            waits for as long as it takes.

        Raises
        ------
        SharedTimeoutError
            When there was no item for all the time, or its value was not there. The item goes back
            to its place.
        QueueClosedError
            When it is closed and empty.
        SharedKindError
            When the queue is in use with another `maxsize`.
        Exception
            That of the task whose future was put.

        Notes
        -----
        Two messages to the manager and their answers in a task, three in a program. What a task has
        taken is the task's until it ends: if its executor or worker is lost or it is cancelled, all
        of that goes back to its place, before what came later. `task_done` ends that earlier.
        """
        check_timeout(timeout_s)
        end = end_of(timeout_s)
        client = self._open("take from")
        entry = _native.manager.SharedItem.take(
            client.manager, self.name, self.maxsize, client.task_worker
        )
        with leaving(entry):
            wanted = f"an item of the queue {self.name!r}"
            self._await(entry, client, timeout_s, wanted)
            block, label = entry.item  # type: ignore[misc]
            future: Future[T] = client.manager.watch(block, label)
            self._await_value(future, end, timeout_s, "the first item of the queue")
        if entry.is_calls:
            self._note(entry)
        else:
            entry.finish()
        return future.result()

    def _note(self, entry: _native.manager.SharedItem) -> None:
        entries = _taken.setdefault(self.name, [])
        if entries and not entries[0].is_calls:
            # They are those of a call that has ended.
            entries.clear()
        entries.append(entry)

    def task_done(self) -> None:
        """Be done with all that this task has taken so far: it does not go back any more.

        For tasks that run for long. Without it they are done with it when they end.
        """
        entries = _taken.pop(self.name, [])
        for entry in entries:
            if entry.is_calls:
                entry.finish()

    def qsize(self) -> int:
        """Count the items that wait to be taken."""
        client = self._open("count the items of")
        answer = _native.manager.count_queue(client.manager, self.name)
        return self._check(answer, client, f"the size of {self.name!r}")

    def close(self) -> None:
        """End what is put: who takes gets what is left, and then the end.

        The end comes once all that others have taken is done with, or they wait for the end too.
        `put` raises from now on. It has no effect on a queue that is closed.
        """
        client = self._open("close")
        answer = _native.manager.close_queue(client.manager, self.name, self.maxsize)
        self._check(answer, client, f"the end of {self.name!r}")

    def delete(self) -> None:
        """Forget the queue and what is in it; the name may be used anew.

        Who waits for it gets `QueueClosedError`.
        """
        client = self._open("delete")
        answer = _native.manager.delete_queue(client.manager, self.name)
        self._check(answer, client, f"the end of {self.name!r}")

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self.get()
            except QueueClosedError:
                return
            yield item

    def _kind(self) -> str:
        return queue_of(self.maxsize)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self.name, self.maxsize)

    def __repr__(self) -> str:
        return f"<queue {self.name!r}>"


_taken: dict[str, list[_native.manager.SharedItem]] = {}
"""What calls of this process have taken, by queue; those of calls that have ended do nothing."""
