"""Locks and semaphores that programs and tasks share by name."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.client.named import Named, check_timeout, end_of, leaving, left
from freestone.client.pausing import IN_TASK, paused, until_resolved
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

_Key = tuple[int, str, str, int]

_held: weakref.WeakValueDictionary[_Key, _native.manager.LockHold] = weakref.WeakValueDictionary()
"""Locks of threads and coroutines of this process, by client, name, and whose they are."""


class Lock(Named):
    """A lock or semaphore of a cluster, from `Cluster.lock` or `Cluster.semaphore`.

    Used in ``with`` or ``async with``, by any number of threads and coroutines. Sent to a task it
    is the same lock there.
    """

    def __init__(
        self, client: LocalClient | None, name: str, limit: int | None, timeout_s: float | None
    ) -> None:
        super().__init__(client, name)
        check_timeout(timeout_s)
        self.limit = limit
        self.timeout_s = timeout_s
        self._holds: list[tuple[_native.manager.LockHold, LocalClient, tuple[_Key, ...]]] = []

    def __enter__(self) -> Lock:
        client = self._open("enter")
        keys = self._keys(client)
        self._refuse_held(keys[:1])
        hold = self._line_up(client)
        with leaving(hold):
            state, _, holders = hold.entry
            if state == "queued":
                with paused(self._wanted()) if IN_TASK else nullcontext():
                    state = self._wait(hold, holders)
            self._enter(hold, state, client, keys)
        return self

    async def __aenter__(self) -> Lock:
        client = self._open("enter")
        keys = self._keys(client)
        self._refuse_held(keys[1:])
        hold = self._line_up(client)
        with leaving(hold):
            state, _, holders = hold.entry
            if state == "queued":
                state = await self._wait_in_loop(hold, client, holders)
            self._enter(hold, state, client, keys)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._holds:
            raise UsageError(f"{self!r} is left that was not entered; use it in 'with'")
        hold, client, keys = self._holds.pop()
        for key in keys:
            _held.pop(key, None)
        hold.leave()
        if error is None and client.manager.lost is not None:
            raise LockLostError(name=self.name, reason=client.manager.lost)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)

    def _keys(self, client: LocalClient) -> tuple[_Key, ...]:
        """Return what finds a lock that this thread has, and what one that this coroutine has."""
        if self.limit is not None:
            return ()
        import asyncio

        key = (id(client), self.name)
        try:
            task = id(asyncio.current_task())
        except RuntimeError:
            return ((*key, "thread", threading.get_ident()),)
        return (*key, "thread", threading.get_ident()), (*key, "coroutine", task)

    def _refuse_held(self, keys: tuple[_Key, ...]) -> None:
        for key in keys:
            mine = _held.get(key)
            if mine is not None and not mine.has_left:
                raise LockHeldError(name=self.name)

    def _line_up(self, client: LocalClient) -> _native.manager.LockHold:
        return _native.manager.LockHold(
            client.manager, self.name, self.limit, client.holder, client.task_worker
        )

    def _enter(
        self,
        hold: _native.manager.LockHold,
        state: str,
        client: LocalClient,
        keys: tuple[_Key, ...],
    ) -> None:
        """Have what was granted; raise if it was not."""
        _, limit, holders = hold.entry
        if state == "other":
            raise SharedKindError(name=self.name, wanted=self._kind(), found=_kind(limit))
        if state == "waiting":
            raise LockTimeoutError(name=self.name, timeout_s=self.timeout_s or 0.0, holders=holders)
        if state == "ended":
            reason = "the task that waited for it has ended, or its worker is lost"
            raise LockLostError(name=self.name, reason=reason)
        if state == "closed":
            action = f"wait for {self.name!r}"
            client.require_open(action)
            raise ClosedError(action)
        for key in keys:
            _held[key] = hold
        self._holds.append((hold, client, keys))

    def _wait(self, hold: _native.manager.LockHold, holders: list[str]) -> str:
        for wait_s in self._waits(holders):
            state = hold.wait(wait_s)
            if state != "waiting":
                return state
        return "waiting"

    async def _wait_in_loop(
        self, hold: _native.manager.LockHold, client: LocalClient, holders: list[str]
    ) -> str:
        import asyncio

        for wait_s in self._waits(holders):
            try:
                async with asyncio.timeout(wait_s):
                    await until_resolved(client.subscribe, hold, self._wanted())
            except TimeoutError:
                continue
            # Answered at once.
            return hold.wait(REPORT_INTERVAL_S)
        return "waiting"

    def _waits(self, holders: list[str]) -> Iterator[float]:
        """Yield how long to wait, in seconds, for as long as it takes; say so in the log."""
        end = end_of(self.timeout_s)
        while (rest_s := left(end)) is None or rest_s > REPORT_INTERVAL_S:
            yield REPORT_INTERVAL_S
            logging.getLogger("freestone").warning(
                "%r has been waited for for a minute; when the wait began it was held by %s",
                self.name,
                ", ".join(holders),
            )
        yield rest_s

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
