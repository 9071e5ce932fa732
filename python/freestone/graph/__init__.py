"""Dask graphs on a cluster.

``cluster.get`` is a scheduler for Dask: ``x.compute(scheduler=cluster.get)``, or for all that
follows ``dask.config.set(scheduler=cluster.get)``.
"""

from __future__ import annotations

from freestone.errors import NotAssociativeError
from freestone.graph.persisting import persist
from freestone.graph.reducers import associative
from freestone.graph.running import get
from freestone.graph.stack import Stack

__all__ = ["NotAssociativeError", "Stack", "associative", "get", "persist"]
