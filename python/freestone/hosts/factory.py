"""How many workers a cluster should have: as many as its work is worth, between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from freestone.errors import UsageError
from freestone.hosts.batch import Batch
from freestone.observe.workers import worker_number

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
    lost : int
        How many jobs are taken to have ended now, since their workers did not join in time.
    """

    wanted: int
    jobs: int
    submitted: int
    retired: tuple[int, ...]
    lost: int = 0


@dataclass(slots=True)
class Factory:
    """Keeps between `least` and `most` workers in a batch system.

    Parameters
    ----------
    batch
        Where jobs are handed in.
    retire
        Lets the worker of a number go, or raises `UsageError`.
    least, most
        Bounds.
    executors
        Calls that a worker runs at once.
    patience_s
        How long there must be too many workers before some are let go. Where jobs can't be counted,
        a job whose worker has not joined for as long is taken to have ended; twice as long after
        each such time, until one joins, so that jobs do not pile up in a long queue.
    """

    batch: Batch
    retire: Callable[[int], None]
    least: int
    most: int
    executors: int = 1
    patience_s: float = 60.0
    _spare_since: float | None = field(default=None, init=False)
    _leaving: set[int] = field(default_factory=set, init=False)
    _own: Jobs = field(init=False)

    def __post_init__(self) -> None:
        self._own = Jobs(self.patience_s)

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
        tasks = statistics["waiting"] + statistics["ready"] + statistics["assigned"]
        wanted = min(self.most, max(self.least, math.ceil(tasks / self.executors)))
        present = {worker_number(worker["worker"]) for worker in workers}
        counted = self.batch.jobs()
        if counted is None:
            lost, jobs = self._own.look(present, now), self._own.jobs(present)
        else:
            self._own.look_counted(present, counted)
            lost, jobs = 0, counted
        jobs -= len(self._leaving & present)
        if jobs < wanted:
            self._spare_since = None
            self.batch.submit(wanted - jobs)
            if counted is None:
                self._own.submitted(wanted - jobs, now)
            return Plan(wanted, jobs, wanted - jobs, (), lost)
        if jobs == wanted:
            self._spare_since = None
            return Plan(wanted, jobs, 0, (), lost)
        if self._spare_since is None:
            self._spare_since = now
        if now - self._spare_since < self.patience_s:
            return Plan(wanted, jobs, 0, (), lost)
        self._spare_since = now
        return Plan(wanted, jobs, 0, self._let_go(workers, jobs - wanted), lost)

    def _let_go(self, workers: list[dict[str, Any]], count: int) -> tuple[int, ...]:
        """Let idle ones of our own jobs go, those with the fewest bytes to hand over first."""
        own = self._own.joined - self._leaving
        idle = [worker for worker in workers if worker["assigned"] == 0]
        idle = [worker for worker in idle if worker_number(worker["worker"]) in own]
        idle.sort(key=lambda worker: worker["nbytes"])
        chosen = (worker_number(worker["worker"]) for worker in idle[:count])
        return tuple(number for number in chosen if self._lets_go(number))

    def _lets_go(self, number: int) -> bool:
        """Let a worker go, unless the cluster refuses: nobody could take over from it now."""
        try:
            self.retire(number)
        except UsageError:
            return False
        self._leaving.add(number)
        return True


class Jobs:
    """Which workers are jobs of ours; and how many jobs there are, where that can't be asked.

    Both follow from who joins and leaves.

    Parameters
    ----------
    patience_s
        How long a job may take until its worker joins, at first.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = self._timeout_s = patience_s
        # Workers that were there before the first job are nobody's jobs.
        self._others: set[int] | None = None
        self.joined: set[int] = set()
        # When jobs were handed in whose workers have not joined, in order.
        self._pending: list[float] = []
        self._given_up = 0

    def submitted(self, count: int, now: float) -> None:
        """Take note of jobs that were handed in."""
        self._pending += [now] * count

    def look_counted(self, present: set[int], counted: int) -> None:
        """Take note of the workers that are there, with so many jobs that wait or run."""
        self._adopt(self._unknown(present), counted - len(self.joined & present))

    def look(self, present: set[int], now: float) -> int:
        """Take note of the workers that are there; return how many jobs are given up now."""
        unknown = self._unknown(present)
        new = len(unknown)
        from_pending = min(new, len(self._pending))
        del self._pending[:from_pending]
        if new:
            # The queue moves, so the others are waited for anew.
            self._timeout_s = self._patience_s
            self._pending = [now] * len(self._pending)
        # More than are waited for: some that were given up come late, or somebody else's join.
        late = min(new - from_pending, self._given_up)
        self._given_up -= late
        self._adopt(unknown, from_pending + late)
        kept = [since for since in self._pending if now - since < self._timeout_s]
        lost = len(self._pending) - len(kept)
        if lost:
            self._timeout_s *= 2
            self._given_up += lost
            self._pending = kept
        return lost

    def jobs(self, present: set[int]) -> int:
        """Return how many wait or run."""
        return len(self.joined & present) + len(self._pending)

    def _unknown(self, present: set[int]) -> list[int]:
        """Return the workers that have joined since the last look, in order."""
        if self._others is None:
            self._others = set(present)
        return sorted(present - self.joined - self._others)

    def _adopt(self, unknown: list[int], count: int) -> None:
        """Take the first of those that have joined for workers of jobs of ours."""
        count = max(count, 0)
        self.joined |= set(unknown[:count])
        self._others = (self._others or set()) | set(unknown[count:])
