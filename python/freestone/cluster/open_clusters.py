"""The clusters that this program has open, and what becomes of them in its children."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from freestone.client import opened

if TYPE_CHECKING:
    from freestone.client.interface import Client
    from freestone.cluster.cluster import Cluster

__all__ = ["current", "enter", "leave"]


_open: dict[Client, Cluster] = {}


def current() -> Cluster | None:
    """Return the open cluster to which calls without one of their own go, or None."""
    client = opened.current()
    return None if client is None else _open[client]


def enter(cluster: Cluster) -> None:
    """Have a cluster be the current one, and calls without a cluster of their own go to it."""
    _open[cluster.client] = cluster
    opened.enter(cluster.client)


def leave(cluster: Cluster) -> None:
    """Have the one that was entered before be current, if it is open still."""
    opened.leave(cluster.client)
    _open.pop(cluster.client, None)


def _forget_all() -> None:
    """In a child of this process, which has no manager: its clusters are closed there."""
    while _open:
        _open.popitem()[1].forget()


os.register_at_fork(after_in_child=_forget_all)
