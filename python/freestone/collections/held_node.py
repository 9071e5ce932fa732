"""The nodes of Dask graphs that stand for blocks of a cluster; imported when Dask is."""

from __future__ import annotations

from typing import Any

from dask._task_spec import Task

__all__ = ["HeldNode"]


class HeldNode(Task):  # type: ignore[misc]
    """A task that gives the value of a block: `freestone.collections.held.value_in` of a `Held`."""

    __slots__ = ()

    def result(self) -> Any:
        """Return the value of the block, here; what looks into a graph takes it for a future."""
        return self()
