"""Figures of a cluster, as the manager reports them.

See docs/decisions/006-observe-has-two-layers.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freestone.observe import html
from freestone.units import custom_resources, format_nbytes, format_seconds

__all__ = ["Statistics", "WorkerFigures", "WorkerStatus"]


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
        What it has: ``cores``, ``gpus``, ``memory`` and ``disk`` in bytes, and custom resources.
    free : mapping of str to int
        What of it no task has.
    slots : int
        Its executors.
    leaving : bool
        Whether it is being let go: it ends its calls, and hands over what only it holds.
    assigned, done : int
        Calls that it holds and that it ran.
    blocks, nbytes : int
        Blocks that it holds, and their bytes.
    executors : mapping of int to int
        Of each executor that has run a call of 2 ms or more, by its process id, the most bytes that
        the process has had in memory, with blocks that it maps.
    status : WorkerStatus
        What it last said of itself.
    """

    worker: str
    pid: int = 0
    host: str = ""
    folder: str = ""
    address: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    free: Mapping[str, int] = field(default_factory=dict)
    slots: int = 0
    leaving: bool = False
    assigned: int = 0
    done: int = 0
    blocks: int = 0
    nbytes: int = 0
    executors: Mapping[int, int] = field(default_factory=dict)
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

    def summary(self) -> str:
        """Return them as one line, without what is zero."""
        workers = len(self.workers)
        parts = [f"{_count(workers, 'worker')} with {_count(self.slots, 'executor')}"]
        amounts = ("pending", "done", "answered", "failed", "retried", "recovered")
        parts += [f"{getattr(self, key):,} {key}" for key in amounts if getattr(self, key)]
        if self.blocks:
            parts.append(f"{_count(self.blocks, 'block')} of {format_nbytes(self.nbytes)}")
        return ", ".join(parts)

    def table_html(self) -> str:
        """Return them as HTML: what was run, and one row per worker."""
        moved = f"{self.transfers:,} ({format_nbytes(self.transferred_nbytes)})"
        figures = {
            "pending": f"{self.pending:,}",
            "run": f"{self.done:,}",
            "answered": f"{self.answered:,}",
            "failed": f"{self.failed:,}",
            "moved": moved,
            "busy": format_seconds(self.busy_ns / 1e9),
        }
        head = html.table([list(figures)], [list(figures.values())])
        table = _worker_rows(self.workers) if self.workers else ""
        return head + table

    def _repr_html_(self) -> str:
        return html.card(self.table_html())


def _worker_rows(workers: Sequence[WorkerFigures]) -> str:
    has_custom = any(custom_resources(worker.resources) for worker in workers)

    def custom(worker: WorkerFigures) -> list[str]:
        text = ", ".join(
            f"{held - worker.free.get(name, 0)} of {held} {name}"
            for name, held in custom_resources(worker.resources).items()
        )
        return [html.escaped(text)] if has_custom else []

    rows = [
        [
            html.escaped(worker.worker),
            f"{html.escaped(worker.host)}:{worker.pid}",
            html.bar(worker.status.running, worker.slots),
            f"{worker.assigned:,}",
            f"{worker.done:,}",
            f"{worker.blocks:,}",
            _store(worker.status.memory_nbytes, worker.resources, "memory"),
            _store(worker.status.disk_nbytes, worker.resources, "disk"),
            *custom(worker),
        ]
        for worker in workers
    ]
    head = ["worker", "process", "running", "held", "run", "blocks", "memory", "disk"]
    head += ["resources"] if has_custom else []
    return html.table([head], rows, escaped=True)


def _store(used: int, resources: Mapping[str, int], kind: str) -> str:
    return format_nbytes(used) + _share(used, resources.get(kind, 0))


def _share(used: int, total: int) -> str:
    return f" of {format_nbytes(total)}" if total else ""


def _count(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
