"""From a trace to what is drawn: sums over equal spans of time, by worker and by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.observe.profile import Profile
from freestone.observe.report.memory import Memory
from freestone.observe.report.memory import load as find_memory
from freestone.observe.report.path import Path
from freestone.observe.report.path import load as find_path

__all__ = ["Cache", "Floats", "Run", "Share", "load"]

Floats = NDArray[np.float64]
_BINS = 400


@dataclass(frozen=True, slots=True)
class Share:
    """Where the slots' time went, in seconds of one slot.

    Attributes
    ----------
    computing : float
        Calls ran.
    values : float
        Executors opened what calls need and stored what they returned: mapped, pickled, wrote.
    data : float
        Calls were at the worker, and blocks on their way to it.
    executor : float
        Calls were at the worker with all they need, and no executor had begun them: it was being
        started, or imported what a function needs.
    manager : float
        Calls were ready, and a slot was free: dispatch.
    nothing : float
        There was nothing to run.
    """

    computing: float
    values: float
    data: float
    executor: float
    manager: float
    nothing: float

    @property
    def total(self) -> float:
        """All slots' time."""
        waits = self.data + self.executor + self.manager
        return self.computing + self.values + waits + self.nothing


@dataclass(frozen=True, slots=True)
class Cache:
    """What a worker held, as it told now and then.

    Attributes
    ----------
    at_s, memory, disk : array, shape (n,)
        Seconds since the run began; bytes.
    """

    at_s: Floats
    memory: Floats
    disk: Floats


@dataclass(frozen=True, slots=True)
class Run:
    """A run as a report draws it.

    Attributes
    ----------
    begin_ns : int
        When it began, on the clock of the records.
    edges_s : array, shape (n + 1,)
        The spans of time, in seconds since the run began.
    running, waiting : array, shape (n,)
        Tasks that ran and that were ready and did not, on average in each span.
    workers : list of str
        In the order in which they joined.
    slots : array, shape (w, n)
        Calls that each worker could run at once; 0 while it was not there.
    busy : array, shape (w, n)
        Calls that it ran, on average.
    moved : dict of (str, str) to int
        Bytes sent from one worker to another.
    caches : dict of str to Cache
        By worker.
    durations_s : dict of str to array
        How long attempts ran, by label, the busiest first.
    values_s : dict of str to float
        How long executors took to open and store values for them, by label.
    ended : Counter
        How attempts ended.
    joined, left : int
        How many workers came and went.
    share : Share
        Where the time went.
    for_worker_s, at_worker_s : float
        How long a task was ready before it was sent, and then waited at its worker; means.
    profile : Profile or None
        Where calls spent their time, if that was sampled.
    path : Path or None
        The critical path, if a task ran.
    memory : Memory
        What functions made, and how much memory executors had.
    tasks : list of mapping
        The records of attempts, by their start.
    failures : list of mapping
        Those of tasks that failed for good, with their tracebacks.
    """

    begin_ns: int
    edges_s: Floats
    running: Floats
    waiting: Floats
    workers: list[str]
    slots: Floats
    busy: Floats
    moved: dict[tuple[str, str], int]
    caches: dict[str, Cache]
    durations_s: dict[str, Floats]
    values_s: dict[str, float]
    ended: Counter[str]
    joined: int
    left: int
    share: Share
    for_worker_s: float
    at_worker_s: float
    profile: Profile | None
    path: Path | None
    memory: Memory
    tasks: list[Mapping[str, Any]]
    failures: list[Mapping[str, Any]]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return float(self.edges_s[-1])


def load(records: Iterable[Mapping[str, Any]]) -> Run:
    """Sum a trace up.

    Parameters
    ----------
    records
        As `freestone.observe.trace.read` returns them.
    """
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_kind.setdefault(record["kind"], []).append(record)
    tasks, transfers = by_kind.get("task", []), by_kind.get("transfer", [])
    joined, left = by_kind.get("joined", []), by_kind.get("left", [])
    sampled = by_kind.get("profile", [])
    clock = _Clock.of(tasks, transfers, joined, left, by_kind.get("cache", []))
    workers = [str(record["worker"]) for record in joined]
    index = {worker: number for number, worker in enumerate(workers)}
    start = clock.seconds(tasks, "start_ns")
    end = start + _seconds(tasks, "duration_ns")
    opening, storing = _seconds(tasks, "opening_ns"), _seconds(tasks, "storing_ns")
    ready = np.minimum(clock.seconds(tasks, "ready_ns"), start)
    sent = np.minimum(np.maximum(clock.seconds(tasks, "sent_ns"), ready), start)
    place = np.array([index.get(str(task["worker"]), -1) for task in tasks], int)
    edges = clock.edges
    slots = _slots(clock, joined, left, index)
    busy = _by_worker(start, end, place, len(workers), edges)
    values = _by_worker(start - opening, start, place, len(workers), edges)
    values += _by_worker(end, end + storing, place, len(workers), edges)
    arriving = np.array([index.get(str(move["target"]), -1) for move in transfers], int)
    arrived = clock.seconds(transfers, "end_ns")
    took = _seconds(transfers, "duration_ns")
    receiving = _by_worker(arrived - took, arrived, arriving, len(workers), edges)
    held = _by_worker(sent, start, place, len(workers), edges)
    queued = _mean(ready, sent, edges)
    return Run(
        begin_ns=clock.begin_ns,
        edges_s=edges,
        running=_mean(start, end, edges),
        waiting=_mean(ready, start, edges),
        workers=workers,
        slots=slots,
        busy=busy,
        moved=_moved(transfers),
        caches=_caches(clock, by_kind.get("cache", [])),
        durations_s=_durations(tasks),
        values_s=_totals(tasks, opening + storing),
        ended=Counter(str(task["ended"]) for task in tasks),
        joined=len(joined),
        left=len(left),
        share=_share(slots, busy, values, held, receiving > 0, queued, np.diff(edges)),
        for_worker_s=float(np.mean(sent - ready)) if tasks else 0.0,
        at_worker_s=float(np.mean(start - sent)) if tasks else 0.0,
        profile=Profile.of_records("calls", sampled) if sampled else None,
        path=find_path(tasks),
        memory=find_memory(tasks, by_kind.get("peak", [])),
        tasks=sorted(tasks, key=lambda task: int(task["start_ns"])),
        failures=by_kind.get("failure", []),
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    begin_ns: int
    edges: Floats

    @classmethod
    def of(cls, tasks: Any, transfers: Any, *others: Any) -> _Clock:
        times = [record["at_ns"] for kind in others for record in kind]
        times += [
            task["start_ns"] + task["duration_ns"] + (task.get("storing_ns") or 0) for task in tasks
        ]
        times += [min(task["start_ns"], task["ready_ns"] or task["start_ns"]) for task in tasks]
        times += [move["end_ns"] for move in transfers]
        begin, end = (min(times), max(times)) if times else (0, 1)
        return cls(begin, np.linspace(0, max(end - begin, 1) / 1e9, _BINS + 1))

    def seconds(self, records: Any, key: str) -> Floats:
        return (np.array([record[key] for record in records], float) - self.begin_ns) / 1e9


def _seconds(records: Any, key: str) -> Floats:
    """Return a field of records in seconds; traces of former versions may lack it."""
    return np.array([record.get(key) or 0 for record in records], float) / 1e9


def _mean(start: Floats, end: Floats, edges: Floats) -> Floats:
    """Return how many of some intervals were open in each span, on average."""
    covered = _open_time(np.sort(start), edges) - _open_time(np.sort(end), edges)
    mean: Floats = np.clip(np.diff(covered) / np.diff(edges), 0, None)
    return mean


def _open_time(since: Floats, edges: Floats) -> Floats:
    """Return the time that had passed at each edge since each of some moments, summed."""
    sums = np.concatenate([[0.0], np.cumsum(since)])
    before = np.searchsorted(since, edges)
    passed: Floats = before * edges - sums[before]
    return passed


def _by_worker(
    start: Floats, end: Floats, place: NDArray[np.int_], workers: int, edges: Floats
) -> Floats:
    rows = [_mean(start[place == n], end[place == n], edges) for n in range(workers)]
    return np.array(rows).reshape(workers, len(edges) - 1)


def _slots(clock: _Clock, joined: Any, left: Any, index: Mapping[str, int]) -> Floats:
    ends = clock.seconds(left, "at_ns")
    gone = {str(record["worker"]): at for record, at in zip(left, ends, strict=True)}
    rows = []
    for record, since in zip(joined, clock.seconds(joined, "at_ns"), strict=True):
        until = gone.get(str(record["worker"]), clock.edges[-1])
        there = _mean(np.array([since]), np.array([until]), clock.edges)
        rows.append(there * record["slots"])
    return np.array(rows).reshape(len(index), len(clock.edges) - 1)


def _moved(transfers: Any) -> dict[tuple[str, str], int]:
    moved: Counter[tuple[str, str]] = Counter()
    for move in transfers:
        moved[str(move["source"]), str(move["target"])] += move["nbytes"]
    return dict(moved)


def _caches(clock: _Clock, reported: Any) -> dict[str, Cache]:
    by_worker: dict[str, list[Any]] = {}
    for record in reported:
        by_worker.setdefault(str(record["worker"]), []).append(record)
    return {
        worker: Cache(
            clock.seconds(records, "at_ns"),
            np.array([record["memory_nbytes"] for record in records], float),
            np.array([record["disk_nbytes"] for record in records], float),
        )
        for worker, records in by_worker.items()
    }


def _durations(tasks: Any) -> dict[str, Floats]:
    by_label: dict[str, list[int]] = {}
    for task in tasks:
        by_label.setdefault(str(task["label"]), []).append(task["duration_ns"])
    found = {label: np.array(values, float) / 1e9 for label, values in by_label.items()}
    return dict(sorted(found.items(), key=lambda item: -float(item[1].sum())))


def _totals(tasks: Any, seconds: Floats) -> dict[str, float]:
    totals: dict[str, float] = {}
    for task, some in zip(tasks, seconds, strict=True):
        label = str(task["label"])
        totals[label] = totals.get(label, 0.0) + float(some)
    return totals


def _share(
    slots: Floats,
    busy: Floats,
    values: Floats,
    held: Floats,
    receives: NDArray[np.bool_],
    queued: Floats,
    span: Floats,
) -> Share:
    """Tell for each worker's free slots in each span what they were free for."""
    free = np.clip(slots - busy, 0, None)
    opened = np.minimum(free, values)
    free = free - opened
    stuck = np.minimum(free, held)
    data = np.where(receives, stuck, 0.0)
    left = (free - stuck).sum(axis=0)
    late = np.minimum(left, queued)
    return Share(
        computing=float((np.minimum(busy, slots) * span).sum()),
        values=float((opened * span).sum()),
        data=float((data * span).sum()),
        executor=float(((stuck - data) * span).sum()),
        manager=float((late * span).sum()),
        nothing=float(((left - late) * span).sum()),
    )
