"""The critical path of a run: the tasks and waits that its length is made of, and what changes it.

An attempt follows the last of its inputs that was made. A task that was submitted when nothing else
was under way follows what had ended last before: the program, most likely, had waited for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Path", "Step", "WhatIf", "load"]

Floats = NDArray[np.float64]

MAX_REPLAYED = 300_000
"""What would have been is not asked of runs with more attempts: it takes some 6 us for each."""
_FUNCTIONS = 6
_FACTORS = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Step:
    """An attempt on the critical path.

    Attributes
    ----------
    label, name, worker : str
        Its function, its output, and where it ran.
    at_s : float
        When all that it needs was there, in seconds since the run began.
    submitting_s : float
        From the end of the step before until then: its task was submitted, or messages were sent.
    queued_s : float
        Then, until it was sent to a worker.
    arriving_s : float
        Then, until its worker had its inputs, and an executor for it.
    values_s : float
        Opening inputs and storing outputs.
    running_s : float
        In its function.
    """

    label: str
    name: str
    worker: str
    at_s: float
    submitting_s: float
    queued_s: float
    arriving_s: float
    values_s: float
    running_s: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """How long the run would have taken if a function had taken longer or shorter.

    Attributes
    ----------
    label : str
        The function.
    half_s, double_s : float
        With half of its time, and with twice its time.
    """

    label: str
    half_s: float
    double_s: float


@dataclass(frozen=True, slots=True)
class Path:
    """The critical path of a run.

    Attributes
    ----------
    seconds : float
        From the first submission to the last result.
    steps : list of Step
        First to last.
    what_if : list of WhatIf
        Of the functions that take most of the path; none of runs with very many attempts.
    free_s : float or None
        How long the run would have taken if there had always been a free worker; None for those.
    """

    seconds: float
    steps: list[Step]
    what_if: list[WhatIf]
    free_s: float | None

    def parts(self) -> dict[str, float]:
        """Return what the path's time was spent on, in seconds."""
        sums = {
            "running": sum(step.running_s for step in self.steps),
            "opening and storing values": sum(step.values_s for step in self.steps),
            "waiting for a worker": sum(step.queued_s for step in self.steps),
            "waiting at the worker": sum(step.arriving_s for step in self.steps),
            "before it was submitted": sum(step.submitting_s for step in self.steps),
        }
        return sums

    def functions(self) -> dict[str, float]:
        """Return the seconds that each function runs on the path, the most first."""
        sums: dict[str, float] = {}
        for step in self.steps:
            sums[step.label] = sums.get(step.label, 0.0) + step.running_s
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def load(tasks: Sequence[Mapping[str, Any]]) -> Path | None:
    """Find the path in records of attempts; None if there are none.

    Parameters
    ----------
    tasks
        The records of a trace whose ``kind`` is ``task``.
    """
    if not tasks:
        return None
    attempts = _Attempts(tasks)
    steps = attempts.steps()
    seconds = float(attempts.done.max() - attempts.ready.min())
    if len(tasks) > MAX_REPLAYED:
        return Path(seconds, steps, [], None)
    labels = list(Path(seconds, steps, [], None).functions())[:_FUNCTIONS]
    taken = attempts.replayed(labels)
    what_if = [
        WhatIf(label, *taken[number : number + len(_FACTORS)])
        for label, number in zip(labels, range(0, len(taken), len(_FACTORS)), strict=False)
    ]
    return Path(seconds, steps, what_if, taken[-1])


class _Attempts:
    """Attempts by when they took an executor, and which of them each one follows."""

    def __init__(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        def seconds(key: str) -> Floats:
            return np.array([task.get(key) or 0 for task in tasks], float) / 1e9

        start, opening = seconds("start_ns"), seconds("opening_ns")
        order = np.argsort(start - opening, kind="stable")
        self._tasks = [tasks[place] for place in order]
        self.running = seconds("duration_ns")[order]
        self.began = (start - opening)[order]
        self.values = (opening + seconds("storing_ns"))[order]
        self.done = self.began + self.values + self.running
        # Clocks of other machines differ a little, and of what has not begun times are missing.
        self.ready = np.minimum(seconds("ready_ns")[order], self.began)
        unknown = self.ready <= 0
        self.ready[unknown] = self.began[unknown]
        sent = seconds("sent_ns")[order]
        self.sent = np.clip(sent, self.ready, self.began)
        self._follows = self._find_followed()

    def _find_followed(self) -> list[list[int]]:
        """Return for each attempt those before it that it can't have begun without."""
        before = self._ended_before()
        makers: dict[str, int] = {}
        attempts: dict[Any, int] = {}
        found = []
        for place, task in enumerate(self._tasks):
            name, inputs, outputs = task["name"], task.get("inputs"), task.get("outputs")
            follows = {makers.get(one) for one in inputs.split()} if inputs else set()
            key = (task.get("task"), name)
            follows.add(attempts.get(key))
            follows.add(before[place])
            attempts[key] = place
            found.append(sorted([one for one in follows if one is not None and one < place]))
            if task["ended"] == "done":
                makers[name] = place
                if outputs:
                    makers.update(dict.fromkeys(outputs.split(), place))
        return found

    def _ended_before(self) -> list[Any]:
        """Return what had ended last when nothing was under way for the last time before."""
        order = np.argsort(self.ready, kind="stable")
        latest, latest_s, trigger = None, -np.inf, None
        found: list[Any] = [None] * len(order)
        ready, done = self.ready.tolist(), self.done.tolist()
        for place in order.tolist():
            if ready[place] >= latest_s:
                trigger = latest
            found[place] = trigger
            if done[place] > latest_s:
                latest, latest_s = place, done[place]
        return found

    def steps(self) -> list[Step]:
        """Return the path, from its end back to its beginning."""
        found = []
        first_s = float(self.ready.min())
        place = int(self.done.argmax())
        while True:
            follows = self._follows[place]
            last = max(follows, key=lambda one: float(self.done[one]), default=None)
            after_s = first_s if last is None else float(self.done[last])
            ready_s = max(float(self.ready[place]), after_s)
            sent_s = max(float(self.sent[place]), ready_s)
            began_s = max(float(self.began[place]), sent_s)
            task = self._tasks[place]
            found.append(
                Step(
                    label=str(task["label"]),
                    name=str(task["name"]),
                    worker=str(task["worker"]),
                    at_s=ready_s - first_s,
                    submitting_s=ready_s - after_s,
                    queued_s=sent_s - ready_s,
                    arriving_s=began_s - sent_s,
                    values_s=float(self.values[place]),
                    running_s=float(self.running[place]),
                )
            )
            if last is None:
                return found[::-1]
            place = last

    def replayed(self, labels: Sequence[str]) -> list[float]:
        """Return how long the run would take with other times of functions, and with free workers.

        Each attempt begins as long after what it follows as it did, in the order and on the
        executors of the run; with free workers, when all that it needs is there.
        """
        took = self.values + self.running
        waited = [
            follows if lane is None else [*follows, lane]
            for follows, lane in zip(self._follows, self._lanes(), strict=True)
        ]
        gaps = self.began - self._ends_of(waited)
        number = {label: place for place, label in enumerate(labels)}
        own = np.array([number.get(str(task["label"]), -1) for task in self._tasks])
        last_s = []
        for place in range(len(labels)):
            for factor in _FACTORS:
                changed = took + np.where(own == place, self.running * (factor - 1), 0)
                last_s.append(_last_end(waited, gaps + changed))
        gaps = self.ready - self._ends_of(self._follows)
        # What began before the last of what it follows had ended begins with its end.
        gaps = np.where([bool(follows) for follows in self._follows], np.maximum(gaps, 0), gaps)
        last_s.append(_last_end(self._follows, gaps + took))
        first_s = float(self.ready.min())
        return [end_s - first_s for end_s in last_s]

    def _ends_of(self, waited: Iterable[Sequence[int]]) -> Floats:
        """Return when the last of those ended that each attempt waited for; 0 without any."""
        done = self.done.tolist()
        return np.array([_latest(done, places) for places in waited])

    def _lanes(self) -> Iterable[int | None]:
        """Yield for each attempt the one that its executor ran before."""
        free: dict[str, list[int]] = {}
        done, began = self.done.tolist(), self.began.tolist()
        for place, task in enumerate(self._tasks):
            lanes = free.setdefault(task["worker"], [])
            latest_s = began[place] + 1e-6
            before, before_s = None, -np.inf
            for one in lanes:
                if before_s < done[one] <= latest_s:
                    before, before_s = one, done[one]
            if before is not None:
                lanes.remove(before)
            lanes.append(place)
            yield before


def _last_end(waited: Iterable[Sequence[int]], added_s: Floats) -> float:
    """Return when all have ended if each ends so long after the last of those it waits for."""
    ends: list[float] = []
    # One after the other, since each follows others.
    for places, more_s in zip(waited, added_s.tolist(), strict=True):
        ends.append(_latest(ends, places) + more_s)
    return max(ends)


def _latest(ends: Sequence[float], places: Sequence[int]) -> float:
    """Return the largest of some ends; 0 of none. Most attempts wait for one other."""
    if len(places) == 1:
        return ends[places[0]]
    return max([ends[one] for one in places]) if places else 0.0
