"""The clusters that are open in this process."""

from __future__ import annotations

from freestone.client.interface import Client

__all__ = ["count", "current", "enter", "leave", "only"]

_open: list[Client] = []


def current() -> Client | None:
    """Return the client of the cluster that was opened last and is still open, or None."""
    return _open[-1] if _open else None


def count() -> int:
    """Count the clusters that are open."""
    return len(_open)


def only() -> Client | None:
    """Return the client of the cluster that is open, if there is one and no other."""
    return _open[0] if len(_open) == 1 else None


def enter(client: Client) -> None:
    """Have calls without a cluster of their own go to this one."""
    _open.append(client)


def leave(client: Client) -> None:
    """Have calls go to the cluster that was opened before, if it is open still."""
    if client in _open:
        _open.remove(client)
