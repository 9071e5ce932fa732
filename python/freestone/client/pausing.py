"""Tasks that wait for others: they take no cores meanwhile."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from freestone import _native, functions

__all__ = ["IN_TASK", "awaited", "paused", "until_resolved"]

T = TypeVar("T")

IN_TASK: bool = functions.in_executor() and "FREESTONE__APART" not in os.environ
"""Whether this process runs calls whose waiting their worker hears of."""


MAX_SHOWN = 200
"""So many characters of what is waited for are shown."""


@contextmanager
def paused(what: str) -> Iterator[None]:
    """Take nothing while this thread of a task waits for others, and take it again at the end.

    What the task takes (cores, GPUs, memory, disk) is for others until then. Returns once it is the
    task's own again.

    Parameters
    ----------
    what
        It waits for, for people.
    """
    sequence = _native.executor.begin_wait(what[:MAX_SHOWN])
    try:
        yield
    finally:
        if sequence is not None:
            _native.executor.end_wait(sequence)


async def until_resolved(
    subscribe: Callable[[Any, Callable[[Any], object]], Callable[[], object]],
    awaited: Any,
    what: str,
) -> None:
    """Wait in an event loop, which goes on meanwhile; in a task what it takes is for others.

    Parameters
    ----------
    subscribe
        `Client.subscribe`, or what does the same for entries of shared state.
    awaited
        What resolves.
    what
        It is, for people.
    """
    import asyncio

    loop, ready = asyncio.get_running_loop(), asyncio.Event()

    def fulfil(_: object) -> None:
        # A loop that has ended waits for nothing.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ready.set)

    forget = subscribe(awaited, fulfil)
    try:
        with paused(what) if IN_TASK else nullcontext():
            await ready.wait()
    finally:
        forget()


async def awaited(value: Awaitable[T]) -> T:
    """Wait for what can be awaited: `asyncio.Runner.run` takes coroutines only."""
    return await value
