"""A pytest plugin: what Dask's tests compute is computed by a cluster."""

from __future__ import annotations

import os
from types import FunctionType
from typing import Any

import dask
import pytest

import freestone as fs

SCHEDULER = "OUTSIDE_SCHEDULER"
"""The variable with the scheduler: "cluster", or one of Dask's own to compare with."""

_cluster: fs.Cluster | None = None


def pytest_sessionstart() -> None:
    """Open the cluster and make its `get` the default scheduler."""
    global _cluster
    scheduler: Any = os.environ.get(SCHEDULER, "cluster")
    if scheduler == "cluster":
        _cluster = fs.Cluster(executors=2, memory="512MiB", disk="1GiB")
        scheduler = _cluster.get
    dask.config.set(scheduler=scheduler)
    _use_default_scheduler()


def _use_default_scheduler() -> None:
    """Let Dask's own comparisons use the default scheduler, where they would compute in place."""
    import dask.array.utils
    import dask.bag.utils
    import dask.dataframe.utils

    for module in (dask.array.utils, dask.bag.utils, dask.dataframe.utils):
        function: FunctionType = module.assert_eq
        defaults = function.__defaults__ or ()
        function.__defaults__ = tuple(None if one == "sync" else one for one in defaults)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the cluster."""
    if _cluster is not None:
        _cluster.close()
