"""SPMD programs as tasks driven by events.

A program runs as several *ranks*. Each submits tasks that depend on events, and fires events at
ranks; a task runs once all its events are there.

    from freestone import events as ev

    @ev.task
    def total(a, b):
        print(a.data + b.data)

    def main(rank):
        if rank.id == 1:
            rank.submit(total, on=[(0, "half"), (ev.SELF, "half")])
        rank.fire(1, "half", 21)

    ev.run(main, ranks=2)

References
----------
N. Brown, O. T. Brown and J. M. Bull, "Driving asynchronous distributed tasks with events".
"""

from __future__ import annotations

from freestone._native.events import Event, TaskFuture
from freestone.events.bridge import Bridge, attach
from freestone.events.coroutines import Arrival
from freestone.events.rank import ALL, ANY, RANK_JOINED, RANK_LOST, SELF, Rank, current
from freestone.events.running import run
from freestone.events.tasks import Task, task
from freestone.events.world import hold_mpi

__all__ = [
    "ALL",
    "ANY",
    "RANK_JOINED",
    "RANK_LOST",
    "SELF",
    "Arrival",
    "Bridge",
    "Event",
    "Rank",
    "Task",
    "TaskFuture",
    "attach",
    "current",
    "hold_mpi",
    "run",
    "task",
]
