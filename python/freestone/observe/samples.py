"""The samples of executors, as a program keeps them: by function and by task, within bounds."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from freestone.observe.profile import Frame, Profile, Stack

__all__ = ["Samples"]

MAX_STACKS = 20_000
"""Stacks of all functions together that are kept apart,"""
TASK_STACKS = 1_000
"""of a task,"""
TASKS_STACKS = 20_000
"""and of all tasks: of more, those tasks go that were sampled longest ago."""
_OTHERS: Stack = (Frame("(other stacks)", "", 0),)

Counts = dict[Stack, list[int]]


class Samples:
    """Adds up what executors report of where calls spend their time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: dict[tuple[str, bool], Counts] = {}
        # What nobody has taken so far, while there is somebody who takes it.
        self._new: dict[str, Counts] | None = None
        self._tasks: OrderedDict[str, Counts] = OrderedDict()
        self._in_functions = self._in_tasks = 0

    def add(self, name: str | None, label: str, is_own: bool, encoded: bytes) -> None:
        """Add what an executor reports of a call.

        Parameters
        ----------
        name
            The task's first output, if the task is known.
        label
            Its function.
        is_own
            Whether it is of this program's task.
        encoded
            As `freestone.node.sampler.encoded` returns it.
        """
        # Whatever runs in an executor can write to its worker; what makes no sense is no sample.
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
            stacks = list(_decoded(encoded))
            with self._lock:
                self._add(name, (label, is_own), stacks)

    def keep_new(self, wanted: bool) -> None:
        """Keep what comes from now on for `take_new`, or no more."""
        with self._lock:
            if not wanted:
                self._new = None
            elif self._new is None:
                self._new = {}

    def take_new(self) -> list[dict[str, Any]]:
        """Return what has come since the last time, as records of a trace."""
        with self._lock:
            new, self._new = self._new, {} if self._new is not None else None
        at_ns = time.monotonic_ns()
        return [
            {
                "kind": "profile",
                "label": label,
                "at_ns": at_ns,
                "stack": json.dumps(stack),
                "duration_ns": nanoseconds,
                "samples": samples,
            }
            for label, counts in (new or {}).items()
            for stack, (nanoseconds, samples) in counts.items()
        ]

    def _add(self, name: str | None, key: tuple[str, bool], stacks: list[_Counted]) -> None:
        of_function = self._functions.setdefault(key, {})
        of_new = None if self._new is None else self._new.setdefault(key[0], {})
        of_task: Counts = {}
        if name is not None:
            of_task = self._tasks.setdefault(name, {})
            self._tasks.move_to_end(name)
        for stack, nanoseconds, samples in stacks:
            room = self._in_functions < MAX_STACKS
            self._in_functions += _count(of_function, stack, nanoseconds, samples, room)
            if of_new is not None:
                _count(of_new, stack, nanoseconds, samples, len(of_new) < MAX_STACKS)
            if name is not None:
                room = len(of_task) < TASK_STACKS
                self._in_tasks += _count(of_task, stack, nanoseconds, samples, room)
        while self._in_tasks > TASKS_STACKS and len(self._tasks) > 1:
            _, gone = self._tasks.popitem(last=False)
            self._in_tasks -= len(gone)

    def task(self, name: str, title: str) -> Profile:
        """Return where a task spent its time."""
        with self._lock:
            return _profile(title, [self._tasks.get(name, {})])

    def function(self, label: str, *, of_others: bool = False) -> Profile:
        """Return where the tasks of a function spent their time."""
        with self._lock:
            keys = [(label, True), (label, False)][: 1 + of_others]
            return _profile(label, [self._functions.get(key, {}) for key in keys])

    def all(self, title: str, *, of_others: bool = False) -> Profile:
        """Return where all tasks spent their time."""
        with self._lock:
            found = self._functions.items()
            return _profile(title, [counts for key, counts in found if key[1] or of_others])

    def labels(self) -> list[str]:
        """Return the functions that have samples, those first that took most."""
        with self._lock:
            times: dict[str, int] = {}
            for (label, _), counts in self._functions.items():
                times[label] = times.get(label, 0) + sum(counted[0] for counted in counts.values())
        return sorted(times, key=lambda label: -times[label])


_Counted = tuple[Stack, int, int]


def _decoded(encoded: bytes) -> Iterable[_Counted]:
    found = json.loads(encoded)
    frames = [
        Frame(sys.intern(_text(function)), sys.intern(_text(file)), int(line))
        for function, file, line in found["frames"]
    ]
    for indexes, nanoseconds, samples in found["stacks"]:
        if indexes and nanoseconds >= 0 and samples > 0:
            yield tuple(frames[index] for index in indexes), int(nanoseconds), int(samples)


def _text(text: str) -> str:
    """Return text that UTF-8 has: names of files may have other bytes."""
    return text.encode("utf-8", "replace").decode()


def _count(counts: Counts, stack: Stack, nanoseconds: int, samples: int, room: bool) -> int:
    """Add to a stack, or to that of others if there is no room for one more; how many are new."""
    if not room and stack not in counts:
        stack = _OTHERS
    counted = counts.get(stack)
    if counted is None:
        counts[stack] = [nanoseconds, samples]
        return 1
    counted[0] += nanoseconds
    counted[1] += samples
    return 0


def _profile(title: str, parts: Iterable[Counts]) -> Profile:
    stacks: dict[Stack, tuple[int, int]] = {}
    for counts in parts:
        for stack, (nanoseconds, samples) in counts.items():
            before = stacks.get(stack, (0, 0))
            stacks[stack] = (before[0] + nanoseconds, before[1] + samples)
    return Profile(title, stacks)
