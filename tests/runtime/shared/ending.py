"""Waits that the end of a connection ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

import freestone as fs
from freestone.errors import ClosedError


def closed_during(cluster: fs.Cluster, wait: Callable[[], object]) -> ClosedError:
    """Close a cluster while a thread waits for something of it; what the thread gets."""
    raised: list[ClosedError] = []

    def try_it() -> None:
        try:
            wait()
        except ClosedError as error:
            raised.append(error)

    thread = threading.Thread(target=try_it)
    thread.start()
    cluster.close()
    thread.join()
    return raised[0]
