"""What the kinds of state that programs and tasks share by name have in common."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from freestone import _native, functions
from freestone.client import nested, opened
from freestone.client.future import Future
from freestone.client.pausing import IN_TASK, paused
from freestone.errors import (
    ClosedError,
    InputUnknownError,
    QueueClosedError,
    SharedKindError,
    SharedTimeoutError,
    UsageError,
    WaitTimeoutError,
)
from freestone.errors.habits import OF_SHARED, missing_attribute

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = [
    "Named",
    "as_future",
    "check_timeout",
    "end_of",
    "has_answer",
    "leaving",
    "left",
    "queue_of",
]

PAUSE_AFTER_S: Final = 0.005
"""A task that waits for longer gives back what it takes, which costs two messages to its worker."""


class Named:
    """State of a cluster with a name.

    Parameters
    ----------
    client
        Of the cluster; None in a task that it was sent to, whose cluster it is.
    name
        Under which programs and tasks mean the same.
    """

    def __init__(self, client: LocalClient | None, name: str) -> None:
        if not isinstance(name, str):
            kind = type(self).__name__.lower()
            raise TypeError(f"the name of a {kind} is text, not {name!r:.80}")
        self.name: str = name
        self._client = client or _of_program()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name, name=name, obj=self)
        raise missing_attribute(f"a {type(self).__name__}", name, self, OF_SHARED)

    def _open(self, action: str) -> LocalClient:
        """Return the client of the cluster, which is open: in a task, that of the task's."""
        client = self._client or nested.client() or _of_program()
        if client is None:
            count = opened.count()
            there = f"{count} clusters are open" if count else "no cluster is open"
            problem = f"it can't be said which cluster {self!r} is of: {there} in this process"
            raise UsageError(f"{problem}; ask its cluster for it by its name")
        client.require_open(f"{action} {self.name!r}")
        return client

    def _await(
        self,
        entry: _native.manager.SharedItem,
        client: LocalClient,
        timeout_s: float | None,
        wanted: str,
    ) -> int:
        """Wait until an entry is granted; return the version of what it has.

        Raises `SharedTimeoutError` when the time is over before.
        """
        if not has_answer(entry, timeout_s, wanted):
            entry.withdraw()
            entry.wait()
            if entry.state[0] == "ended":
                name, timeout_s = self.name, timeout_s or 0.0
                raise SharedTimeoutError(name=name, wanted=wanted, timeout_s=timeout_s)
        return self._check(entry.state, client, wanted)

    def _await_value(
        self, future: Future, end: float | None, timeout_s: float | None, what: str
    ) -> None:
        """Wait for a future that was put here until a time of `time.monotonic`.

        Raises `SharedTimeoutError` when the time is over before.
        """
        try:
            future.exception(left(end))
        except WaitTimeoutError:
            # Answered after what the manager says of the future: one that has ended is done now.
            future.client.who_has([])
            if not future.done():
                wanted = f"the result of {future.label!r}, which is {what} {self.name!r},"
                raise SharedTimeoutError(
                    name=self.name, wanted=wanted, timeout_s=timeout_s or 0.0
                ) from None

    def _check(
        self,
        answer: tuple[str, int],
        client: LocalClient,
        wanted: str,
        future: Future | None = None,
    ) -> int:
        """Raise if the manager has refused what was `wanted`; return the number in its answer.

        `future` is the block that was to be kept, if there is one.
        """
        state, number = answer
        if state == "closed_queue":
            raise QueueClosedError(name=self.name)
        if state == "other":
            raise SharedKindError(name=self.name, wanted=self._kind(), found=queue_of(number))
        if state == "unknown" and future is not None:
            raise InputUnknownError(label=future.label, name=future.name)
        if state == "ended":
            raise UsageError(f"nothing waits for {wanted} any more: the task that did has ended")
        if state in ("closed", "waiting"):
            action = f"wait for {wanted}"
            client.require_open(action)
            raise ClosedError(action)
        return number

    def _kind(self) -> str:
        """Say what it is, for people."""
        raise NotImplementedError


def _of_program() -> LocalClient | None:
    """Return the client of what is copied or unpickled: of the one cluster that is open here.

    None where clusters could be mixed up, and in a task, whose own cluster it is.
    """
    return None if functions.in_executor() else opened.only()  # type: ignore[return-value]


def check_timeout(timeout_s: object) -> None:
    """Refuse what is no number of seconds, nor None."""
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if timeout_s is not None and not (is_number and timeout_s >= 0):  # type: ignore[operator]
        raise ValueError(f"timeout_s={timeout_s!r:.80}: give seconds, or None to wait")


def end_of(timeout_s: float | None) -> float | None:
    """Return when so many seconds will be over, by `time.monotonic`."""
    return None if timeout_s is None else time.monotonic() + timeout_s


def left(end: float | None) -> float | None:
    """Return how many seconds are left until `end`; None if there is none."""
    return None if end is None else max(end - time.monotonic(), 0.0)


def as_future(client: LocalClient, value: Any) -> Future:
    """Return the future of a value: of a block, if it is none already."""
    return value if isinstance(value, Future) else client.put(value)


@contextmanager
def leaving(entry: _native.manager.SharedItem | _native.manager.LockHold) -> Iterator[None]:
    """End an entry if the wait for it is interrupted, or fails."""
    try:
        yield
    except BaseException:
        entry.leave()
        raise


def has_answer(entry: _native.manager.SharedItem, timeout_s: float | None, wanted: str) -> bool:
    """Wait for an answer: in a task what it takes is for others meanwhile."""
    end = end_of(timeout_s)
    if IN_TASK and entry.wait(
        PAUSE_AFTER_S if timeout_s is None else min(timeout_s, PAUSE_AFTER_S)
    ):
        return True
    with paused(wanted) if IN_TASK else nullcontext():
        return entry.wait(left(end))


def queue_of(capacity: int) -> str:
    """Say what a queue is, for people."""
    return f"a queue of {capacity:,} items" if capacity else "a queue of any number of items"
