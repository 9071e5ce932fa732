"""Locks and semaphores that programs and tasks share by name."""

from __future__ import annotations

import logging
import threading
import weakref
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.client.named import Named, check_timeout, end_of, left
from freestone.client.pausing import IN_TASK, paused
from freestone.errors import (
    ClosedError,
    LockHeldError,
    LockLostError,
    LockTimeoutError,
    SharedKindError,
    UsageError,
)

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["Lock", "semaphore"]

MAX_HOLDERS = 2**32 - 1
"""How many a semaphore lets in at most: the manager counts them in 32 bits."""

REPORT_INTERVAL_S = 60.0
"""Who waits for so long says so in the log."""

_Key = tuple[int, str, int] | None

_held: weakref.WeakValueDictionary[_Key, _native.manager.LockHold] = weakref.WeakValueDictionary()
"""The locks that threads of this process have: of which client, the name, and the thread."""


class Lock(Named):
    """A lock or semaphore of a cluster, from `Cluster.lock` or `Cluster.semaphore`.

    Used in ``with``, by any number of threads. Sent to a task it is the same lock there.
    """

    def __init__(
        self, client: LocalClient | None, name: str, limit: int | None, timeout_s: float | None
    ) -> None:
        super().__init__(client, name)
        check_timeout(timeout_s)
        self.limit = limit
        self.timeout_s = timeout_s
        self._holds: list[tuple[_native.manager.LockHold, LocalClient, _Key]] = []

    def __enter__(self) -> Lock:
        client = self._open("enter")
        key = (id(client), self.name, threading.get_ident()) if self.limit is None else None
        mine = _held.get(key)
        if mine is not None and not mine.has_left:
            raise LockHeldError(name=self.name)
        hold = _native.manager.LockHold(
            client.manager, self.name, self.limit, client.holder, client.task_worker
        )
        try:
            self._wait_for(hold, client)
        except BaseException:
            hold.leave()
            raise
        if key is not None:
            _held[key] = hold
        self._holds.append((hold, client, key))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._holds:
            raise UsageError(f"{self!r} is left that was not entered; use it in 'with'")
        hold, client, key = self._holds.pop()
        _held.pop(key, None)
        hold.leave()
        if error is None and client.manager.lost is not None:
            raise LockLostError(name=self.name, reason=client.manager.lost)

    def _wait_for(self, hold: _native.manager.LockHold, client: LocalClient) -> None:
        state, limit, holders = hold.entry
        if state == "other":
            raise SharedKindError(name=self.name, wanted=self._kind(), found=_kind(limit))
        if state == "queued":
            with paused(self._wanted()) if IN_TASK else nullcontext():
                state = self._wait(hold, holders)
        if state == "waiting":
            raise LockTimeoutError(name=self.name, timeout_s=self.timeout_s or 0.0, holders=holders)
        if state == "ended":
            reason = "the task that waited for it has ended, or its worker is lost"
            raise LockLostError(name=self.name, reason=reason)
        if state == "closed":
            action = f"wait for {self.name!r}"
            client.require_open(action)
            raise ClosedError(action)

    def _wait(self, hold: _native.manager.LockHold, holders: list[str]) -> str:
        end = end_of(self.timeout_s)
        while True:
            rest_s = left(end)
            if rest_s is not None and rest_s <= REPORT_INTERVAL_S:
                return hold.wait(rest_s)
            state = hold.wait(REPORT_INTERVAL_S)
            if state != "waiting":
                return state
            logging.getLogger("freestone").warning(
                "%r has been waited for for a minute; when the wait began it was held by %s",
                self.name,
                ", ".join(holders),
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, (None, self.name, self.limit, self.timeout_s)

    def _kind(self) -> str:
        return _kind(self.limit)

    def _wanted(self) -> str:
        return f"the {self._kind()[2:]} {self.name!r}"

    def __repr__(self) -> str:
        return f"<{self._wanted().removeprefix('the ')}>"


def semaphore(client: LocalClient, name: str, n: int, timeout_s: float | None) -> Lock:
    """Return what lets `n` in at a time; a lock, which has no `n`, is another kind of thing."""
    if type(n) is not int or not 0 < n <= MAX_HOLDERS:
        problem = f"semaphore({name!r:.80}, {n!r:.80}): n is a whole number"
        raise ValueError(f"{problem} from 1 to {MAX_HOLDERS:,}")
    return Lock(client, name, n, timeout_s)


def _kind(limit: int | None) -> str:
    return "a lock" if limit is None else f"a semaphore of {limit}"
