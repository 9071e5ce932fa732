"""The clusters that this program has open, and what becomes of them in its children."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from freestone.client import opened

if TYPE_CHECKING:
    from freestone.cluster.cluster import Cluster

__all__ = ["current", "enter", "leave"]


_open: list[Cluster] = []


def current() -> Cluster | None:
    """Return the cluster that was opened last and is still open, or None."""
    return _open[-1] if _open else None


def enter(cluster: Cluster) -> None:
    """Have a cluster be the current one, and calls without a cluster of their own go to it."""
    _open.append(cluster)
    opened.enter(cluster.client)


def leave(cluster: Cluster) -> None:
    """Have the one that was opened before be current, if it is open still."""
    if cluster in _open:
        _open.remove(cluster)
    opened.leave(cluster.client)


def _forget_all() -> None:
    """In a child of this process, which has no manager: its clusters are closed there."""
    while _open:
        _open.pop().forget()


os.register_at_fork(after_in_child=_forget_all)
