"""How graphs of Dask's are run on a cluster, for modules below the one that runs them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from freestone.client.interface import Client

__all__ = ["offer_scheduler", "scheduler_of"]


class _Scheduler(Protocol):
    def __call__(self, client: Client, graph: Any, keys: Any, **options: Any) -> Any: ...


_get: _Scheduler | None = None


def offer_scheduler(get: _Scheduler) -> None:
    """Have graphs of Dask's run by `get`, which is offered by whoever opens clusters."""
    global _get
    _get = get


def scheduler_of(client: Client) -> Callable[..., Any]:
    """Return a scheduler for Dask that runs graphs on a cluster."""
    if _get is None:
        raise TypeError("Dask's graphs need a cluster: open one by freestone.Cluster()")
    return functools.partial(_get, client)
