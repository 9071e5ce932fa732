"""The clusters that are open in this process."""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar
from itertools import chain

from freestone.client.interface import Client

__all__ = ["count", "current", "enter", "leave", "only"]

# In the order in which they were opened; whether the main thread did so.
_open: dict[Client, bool] = {}
# Those that this thread, or task of asyncio, has opened or entered, the innermost last.
_entered: ContextVar[tuple[weakref.ref[Client], ...]] = ContextVar("entered", default=())


def current() -> Client | None:
    """Return the client of the cluster to which calls without a cluster of their own go.

    The innermost that this thread, or task of asyncio, has opened or entered; for others, the one
    that the main thread has opened last, or else anybody. None if none is open.
    """
    if len(_open) < 2:
        return only()
    entered = (reference() for reference in reversed(_entered.get()))
    here = (client for client in entered if client in _open)
    of_main = (client for client, is_main in reversed(_open.items()) if is_main)
    return next(chain(here, of_main, reversed(_open)), None)


def count() -> int:
    """Count the clusters that are open."""
    return len(_open)


def only() -> Client | None:
    """Return the client of the cluster that is open, if there is one and no other."""
    return next(iter(_open)) if len(_open) == 1 else None


def enter(client: Client) -> None:
    """Have calls of this thread without a cluster of their own go to this one."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main or client not in _open:
        _open.pop(client, None)
        _open[client] = is_main
    outer = tuple(reference for reference in _entered.get() if reference() in _open)
    if not outer or outer[-1]() is not client:
        _entered.set((*outer, weakref.ref(client)))


def leave(client: Client) -> None:
    """Have calls go to the cluster that was entered before, if it is open still."""
    _open.pop(client, None)
