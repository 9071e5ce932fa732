"""Whether `mpiexec` started this process, and as which."""

from __future__ import annotations

import os

__all__ = ["is_here", "rank"]

VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def is_here() -> bool:
    """Tell whether `mpiexec` started this process."""
    return any(name in os.environ for name in VARIABLES)


def rank() -> int:
    """Return which of its processes this is; 0 if there are no others."""
    return int(next((os.environ[name] for name in VARIABLES if name in os.environ), "0"))
