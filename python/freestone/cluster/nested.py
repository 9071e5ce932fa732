"""The cluster of a task, as the task uses it."""

from __future__ import annotations

import os
from pathlib import Path

from freestone.client import nested
from freestone.client.nested import NestedClient
from freestone.cluster import open_clusters
from freestone.cluster.cluster import Cluster
from freestone.cluster.connected import Connected
from freestone.cluster.session import Session

__all__ = ["current"]


class _Nested(Connected):
    """The cluster that runs the task that asks for it."""

    def __init__(self, client: NestedClient) -> None:
        Session.__init__(self, client)
        self._own = None
        self._dashboard = None
        self._access_file = Path(os.environ["FREESTONE__ACCESS"])

    def close(self) -> None:
        """Do nothing: the cluster runs the task, and other tasks come after it."""


_cluster: _Nested | None = None


def current() -> Cluster | None:
    """Return the open cluster to which calls of tasks go, or None.

    That is the innermost whose ``with`` block this thread, or task of asyncio, is in, or that it
    has opened. A thread that has opened none has the one that the main thread has opened last, or
    else the one that was opened last at all. In a task that has opened none it is the cluster that
    runs the task: what the task submits there comes before others of its priority, and is cancelled
    with it. While it waits for a result, what it takes is free for others.

    Raises
    ------
    UsageError
        In a task with ``isolation="process"``.
    ConnectError
        In a task, when the manager can't be reached.
    """
    global _cluster
    opened = open_clusters.current()
    if opened is not None:
        return opened
    client = nested.client()
    if client is None:
        return None
    if _cluster is None or _cluster.client is not client:
        _cluster = _Nested(client)
    return _cluster
