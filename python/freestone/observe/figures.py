"""Figures of a cluster and of a task, as the manager tells them.

See docs/decisions/006-observe-has-two-layers.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Attempt", "Explanation", "Statistics", "WorkerFigures", "WorkerStatus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """What a worker last said of itself.

    Attributes
    ----------
    memory_nbytes, disk_nbytes : int
        Bytes of blocks in the memory tier and in the disk tier.
    memory_quota : int
        Bytes that may be in the memory tier.
    waiting, running : int
        Calls that wait and that run there.
    executors_restarted : int
        Executors started in place of dead ones.
    sent_nbytes, received_nbytes : int
        Bytes sent to and received from peers.
    """

    memory_nbytes: int = 0
    memory_quota: int = 0
    disk_nbytes: int = 0
    waiting: int = 0
    running: int = 0
    executors_restarted: int = 0
    sent_nbytes: int = 0
    received_nbytes: int = 0

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> WorkerStatus:
        """Make it from the manager's figures."""
        return cls(**figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFigures:
    """A worker as the manager sees it.

    Attributes
    ----------
    worker : str
        Its id, such as ``worker-1``.
    pid : int
        Its process.
    host, folder, address : str
        Its machine, its cache folder, and where its blocks can be asked for.
    resources : mapping of str to int
        What it has: ``cores``, ``gpus``, and ``memory`` and ``disk`` in bytes.
    slots : int
        Its executors.
    leaving : bool
        Whether it is being let go: it ends its calls, and hands over what only it holds.
    assigned, done : int
        Calls that it holds and that it ran.
    blocks, nbytes : int
        Blocks that it holds, and their bytes.
    status : WorkerStatus
        What it last said of itself.
    """

    worker: str
    pid: int = 0
    host: str = ""
    folder: str = ""
    address: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    slots: int = 0
    leaving: bool = False
    assigned: int = 0
    done: int = 0
    blocks: int = 0
    nbytes: int = 0
    status: WorkerStatus = field(default_factory=WorkerStatus)

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> WorkerFigures:
        """Make it from the manager's figures, ``status`` nested as a mapping."""
        status = WorkerStatus.from_dict(figures.get("status", {}))
        return cls(**{**figures, "status": status})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Figures of a run so far.

    Attributes
    ----------
    done, failed : int
        Calls that ran to their end, and that failed for good.
    answered : int
        Submissions that were answered by a live or retained output.
    retried, recovered : int
        Attempts made again, and tasks run again because their output was lost.
    waiting, ready, assigned : int
        Tasks that wait for inputs, that wait for a worker, and that are at workers.
    stolen : int
        Tasks given back by a worker and run by another.
    transfers, transferred_nbytes : int
        Blocks sent between workers, and their bytes.
    moving : int
        Blocks of collections that are to move, or move, because workers came or go.
    inline_nbytes : int
        Bytes of small values that the manager holds.
    tasks, blocks : int
        Entries of the manager's tables.
    busy_ns : int
        Time that functions ran, summed, in nanoseconds.
    workers : tuple of WorkerFigures
        Each worker.
    """

    done: int = 0
    failed: int = 0
    answered: int = 0
    retried: int = 0
    recovered: int = 0
    waiting: int = 0
    ready: int = 0
    assigned: int = 0
    stolen: int = 0
    transfers: int = 0
    transferred_nbytes: int = 0
    moving: int = 0
    inline_nbytes: int = 0
    tasks: int = 0
    blocks: int = 0
    busy_ns: int = 0
    workers: tuple[WorkerFigures, ...] = ()

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> Statistics:
        """Make it from the manager's figures, workers nested as mappings."""
        workers = tuple(WorkerFigures.from_dict(worker) for worker in figures.get("workers", ()))
        return cls(**{**figures, "workers": workers})

    @property
    def pending(self) -> int:
        """Tasks that have not ended."""
        return self.waiting + self.ready + self.assigned

    @property
    def slots(self) -> int:
        """Calls that can run at once."""
        return sum(worker.slots for worker in self.workers)

    @property
    def nbytes(self) -> int:
        """Bytes of blocks on all workers, replicas counted each."""
        return sum(worker.nbytes for worker in self.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a task.

    Attributes
    ----------
    worker : str
        Where.
    sent_ns, start_ns : int
        When it was sent there and when it began, or 0 if that is not known (monotonic clock).
    duration_ns : int
        How long it ran.
    ended : str
        ``running``, ``done``, or what went wrong.
    """

    worker: str
    sent_ns: int = 0
    start_ns: int = 0
    duration_ns: int = 0
    ended: str = "running"

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> Attempt:
        """Make it from the manager's figures."""
        return cls(**figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task waits, or where and when it ran.

    Attributes
    ----------
    stage : str
        ``unknown``, ``waiting``, ``ready``, ``assigned``, ``done``, ``failed``, ``released`` or
        ``block``.
    label : str
        The task's function.
    waits_for : tuple of str
        Names of inputs that are not there yet.
    ahead : int
        Tasks that run before it.
    resources : mapping of str to int
        What it asks for.
    attempts : tuple of Attempt
        The last attempts, in order; of a task that failed, up to four.
    attempted : int
        How many attempts there were, those that are no longer listed too.
    replicas : tuple of str
        Workers that have its output.
    nbytes : int or None
        Bytes of its output, if known.
    """

    stage: str
    label: str = ""
    waits_for: tuple[str, ...] = ()
    ahead: int = 0
    resources: Mapping[str, int] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    attempted: int = 0
    replicas: tuple[str, ...] = ()
    nbytes: int | None = None

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> Explanation:
        """Make it from the manager's figures, attempts nested as mappings."""
        attempts = tuple(Attempt.from_dict(attempt) for attempt in figures.get("attempts", ()))
        lists = {key: tuple(figures.get(key, ())) for key in ("waits_for", "replicas")}
        return cls(**{**figures, **lists, "attempts": attempts})

    def __str__(self) -> str:
        """Tell it in sentences."""
        from freestone.observe.explain import explain

        return explain(self)
