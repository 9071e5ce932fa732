"""How many workers a cluster should have: as many as its work is worth, between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from freestone.hosts.batch import Batch, SubmitBatch

__all__ = ["Factory", "Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a look at the cluster led to.

    Attributes
    ----------
    wanted : int
        How many workers there should be.
    jobs : int
        How many jobs there were.
    submitted : int
        How many were handed in now.
    retired : tuple of int
        Numbers of the workers that were let go now.
    """

    wanted: int
    jobs: int
    submitted: int
    retired: tuple[int, ...]


@dataclass(slots=True)
class Factory:
    """Keeps between `least` and `most` workers in a batch system.

    Parameters
    ----------
    batch
        Where jobs are handed in.
    retire
        Lets the worker of a number go.
    least, most
        Bounds.
    executors
        Calls that a worker runs at once.
    patience_s
        How long there must be too many workers before some are let go.
    """

    batch: Batch
    retire: Callable[[int], None]
    least: int
    most: int
    executors: int = 1
    patience_s: float = 60.0
    _spare_since: float | None = field(default=None, init=False)
    _leaving: set[int] = field(default_factory=set, init=False)
    _joined: int = field(default=0, init=False)

    def look(self, statistics: dict[str, Any], now: float) -> Plan:
        """Compare what there is with what the work is worth, and act.

        Parameters
        ----------
        statistics
            The cluster's.
        now
            Seconds of a clock that only goes forward.
        """
        workers = [worker for worker in statistics["workers"] if worker["slots"] > 0]
        self._count_ended(len(workers))
        tasks = statistics["waiting"] + statistics["ready"] + statistics["assigned"]
        wanted = min(self.most, max(self.least, math.ceil(tasks / self.executors)))
        jobs = self.batch.jobs() - len(self._leaving & {_number(worker) for worker in workers})
        if jobs < wanted:
            self._spare_since = None
            self.batch.submit(wanted - jobs)
            return Plan(wanted, jobs, wanted - jobs, ())
        if jobs == wanted:
            self._spare_since = None
            return Plan(wanted, jobs, 0, ())
        if self._spare_since is None:
            self._spare_since = now
        if now - self._spare_since < self.patience_s:
            return Plan(wanted, jobs, 0, ())
        self._spare_since = now
        return Plan(wanted, jobs, 0, self._let_go(workers, jobs - wanted))

    def _let_go(self, workers: list[dict[str, Any]], count: int) -> tuple[int, ...]:
        """Let idle ones go, those with the fewest bytes to hand over first."""
        idle = [worker for worker in workers if worker["assigned"] == 0]
        idle = [worker for worker in idle if _number(worker) not in self._leaving]
        idle.sort(key=lambda worker: worker["nbytes"])
        chosen = tuple(_number(worker) for worker in idle[:count])
        for number in chosen:
            self._leaving.add(number)
            self.retire(number)
        return chosen

    def _count_ended(self, joined: int) -> None:
        """Where jobs can't be counted, workers that left are jobs that ended."""
        if isinstance(self.batch, SubmitBatch) and joined < self._joined:
            self.batch.forget(self._joined - joined)
        self._joined = joined


def _number(worker: dict[str, Any]) -> int:
    return int(str(worker["worker"]).removeprefix("worker-"))
