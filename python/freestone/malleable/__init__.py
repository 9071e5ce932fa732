"""Jobs that change their number of processes while they run, and take their data along.

    from freestone import malleable

    with malleable.World(rows=1_000_000, targets={500: 8}) as world:
        A = world.constant("A", load_rows)
        x = world.variable("x", zeros)
        for step in world.steps(1000):
            ...

References
----------
Martín-Álvarez, Aliaga, Castillo, Iserte: *Efficient data redistribution for malleable
applications*, SC-W 2023, doi 10.1145/3624062.3624110.
"""

from __future__ import annotations

from freestone.malleable.arrays import Array, Run
from freestone.malleable.config import Config
from freestone.malleable.method import METHODS, Method
from freestone.malleable.record import Replicated, Resized
from freestone.malleable.scheduler import Scheduler
from freestone.malleable.states import Saved
from freestone.malleable.targets import (
    Deadline,
    Efficiency,
    File,
    Request,
    Schedule,
    Signals,
    Source,
    Status,
)
from freestone.malleable.world import World

__all__ = [
    "METHODS",
    "Array",
    "Config",
    "Deadline",
    "Efficiency",
    "File",
    "Method",
    "Replicated",
    "Request",
    "Resized",
    "Run",
    "Saved",
    "Schedule",
    "Scheduler",
    "Signals",
    "Source",
    "Status",
    "World",
]
