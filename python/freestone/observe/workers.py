"""The ids of workers."""

from __future__ import annotations

__all__ = ["worker_number"]


def worker_number(worker: str) -> int:
    """Return the number of a worker from its id, such as 3 for ``worker-3``."""
    return int(worker.removeprefix("worker-"))
