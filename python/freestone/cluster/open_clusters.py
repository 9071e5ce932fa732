"""The clusters that this program has open, and what becomes of them in its children."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freestone.cluster.cluster import Cluster

__all__ = ["current", "enter", "leave"]


_open: list[Cluster] = []


def current() -> Cluster | None:
    """Return the cluster that was opened last and is still open, or None."""
    return _open[-1] if _open else None


def enter(cluster: Cluster) -> None:
    """Have a cluster be the current one."""
    _open.append(cluster)


def leave(cluster: Cluster) -> None:
    """Have the one that was opened before be current, if it is open still."""
    if cluster in _open:
        _open.remove(cluster)


def _forget_all() -> None:
    """In a child of this process, which has no manager: its clusters are closed there."""
    while _open:
        _open.pop().forget()


os.register_at_fork(after_in_child=_forget_all)
