"""Watches processes: memory, descriptors, threads, zombies, and what is left of them in folders.

Processes belong to a run if they carry its mark in their environment, as all that they start do.
"""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

__all__ = ["MARK", "Watcher"]

T = TypeVar("T")
MARK = "FREESTONE__SOAK"
MIB = 1 << 20
SHARED_MEMORY = Path("/dev/shm") / f"freestone-{os.getuid()}"
# Of what a process or folder has once it has done everything a few times.
BOUNDS = {"bytes of memory": 48 * MIB, "descriptors": 24, "threads": 8, "entries": 16}
MIN_SAMPLES = 12
"""Of a process that lived shorter nothing is said."""
MAX_ZOMBIE_SAMPLES = 20


@dataclass
class Series:
    """What was counted, one number at a time.

    Attributes
    ----------
    whose : str
        Process or folder.
    values : list of int
        All numbers so far.
    """

    whose: str
    values: list[int] = field(default_factory=list)

    def growth(self) -> int:
        """By how much all late numbers are above all early ones, but for the very first."""
        third = len(self.values) // 3
        if len(self.values) < MIN_SAMPLES:
            return 0
        # A program that begins still imports, and starts threads.
        return min(self.values[-third:]) - max(self.values[third // 2 : third + third // 2])


class Watcher:
    """Samples the processes of a mark, and folders.

    Parameters
    ----------
    folders : sequence of Path
        Where what they make lies; empty when they have ended.
    """

    def __init__(self, folders: list[Path]) -> None:
        self.mark = uuid.uuid4().hex
        self._folders = folders
        self._series: dict[tuple[str, object], Series] = {}
        self._zombies: dict[int, int] = defaultdict(int)
        self._known: dict[psutil.Process, bool] = {}
        self._pids: set[int] = set()

    @property
    def environment(self) -> dict[str, str]:
        """What processes need to be watched."""
        return {**os.environ, MARK: self.mark}

    def processes(self) -> list[psutil.Process]:
        """Return those that are there now."""
        # Who has the number of one that has ended would be taken for that one.
        psutil.process_iter.cache_clear()
        there = list(psutil.process_iter())
        self._known = {each: self._is_ours(each) for each in there}
        ours = [each for each, is_ours in self._known.items() if is_ours]
        self._pids |= {each.pid for each in ours}
        return ours

    def _is_ours(self, process: psutil.Process) -> bool:
        if self._known.get(process):
            return True
        # What was just forked has not taken on another environment yet, but may do so.
        try:
            return process.environ().get(MARK) == self.mark
        except psutil.Error:
            # The environment of a zombie is gone; its parent tells whose it is.
            return process.pid in self._pids or _parent(process) in self._pids

    def sample(self) -> None:
        """Count everything once."""
        for process in self.processes():
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    self._zombies[process.pid] += 1
                    continue
                memory = process.memory_info()
                counts = {
                    "bytes of memory": memory.rss - memory.shared,
                    "descriptors": process.num_fds(),
                    "threads": process.num_threads(),
                }
                whose = f"process {process.pid} ({' '.join(process.cmdline())[:120]})"
            except psutil.Error:
                continue
            for what, count in counts.items():
                self._count(what, process, whose, count)
        for folder in self._folders:
            self._count("entries", folder, str(folder), len(_files(folder)))
        self._count("entries", SHARED_MEMORY, str(SHARED_MEMORY), len(self._shared()))

    def _count(self, what: str, key: object, whose: str, count: int) -> None:
        self._series.setdefault((what, key), Series(whose)).values.append(count)

    def findings(self) -> list[str]:
        """Say what has grown, and who stayed a zombie."""
        found = [
            f"{series.whose} grew by {series.growth():,} {what}: {series.values}"
            for (what, _), series in self._series.items()
            if series.growth() > BOUNDS[what]
        ]
        zombies = [pid for pid, times in self._zombies.items() if times > MAX_ZOMBIE_SAMPLES]
        return found + [f"process {pid} stayed a zombie" for pid in zombies]

    def left(self) -> list[str]:
        """Name what is still there, once all is to have ended."""
        alive = [f"process {each.pid}: {_shown(each)}" for each in self.processes()]
        return (
            alive + [path for folder in self._folders for path in _files(folder)] + self._shared()
        )

    def _shared(self) -> list[str]:
        """Return files in shared memory, whose folders begin with the process that made them."""
        ours = {*map(str, self._pids)}
        folders = [
            each for each in SHARED_MEMORY.glob("*-*") if each.name.partition("-")[0] in ours
        ]
        return [path for folder in folders for path in _files(folder)]


def _files(folder: Path) -> list[str]:
    """Return what is in a folder but for folders.

    Who is killed before its folder has a marker leaves it empty: nobody may remove what has none.
    """
    found = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return [str(path) for path in found]


def _parent(process: psutil.Process) -> int:
    return _of(process.ppid, 0)


def _shown(process: psutil.Process) -> str:
    return _of(lambda: f"{process.status()} {' '.join(process.cmdline())}", "ended")


def _of(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except psutil.Error:
        return otherwise
