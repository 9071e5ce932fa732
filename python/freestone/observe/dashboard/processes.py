"""What the processes of this machine take of it, as Linux tells."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Usage", "resident"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIN_INTERVAL_S = 0.5


class Usage:
    """Processor time and memory of processes with all that descends from them."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, float]] = {}
        self._cores: dict[int, float] = {}

    def of(self, pid: int) -> dict[str, float | int | None]:
        """Return the cores that were busy since the last question, and the resident bytes.

        Parameters
        ----------
        pid
            The process.

        Returns
        -------
        dict
            ``cpu``, None with the first question; ``rss``, with shared pages counted in each
            process. Both are None for a process that is not there.
        """
        used = _tree(pid)
        if used is None:
            return {"cpu": None, "rss": None}
        cpu_s, rss = used
        now = time.monotonic()
        before = self._before.get(pid)
        if before is None or now - before[0] >= _MIN_INTERVAL_S:
            if before is not None:
                self._cores[pid] = max(0.0, cpu_s - before[1]) / (now - before[0])
            self._before[pid] = (now, cpu_s)
        return {"cpu": self._cores.get(pid), "rss": rss}


def resident(pid: int) -> int | None:
    """Return the bytes that a process has in memory; None if it is not there."""
    own = _stat(pid)
    return None if own is None else own[1]


def _tree(pid: int) -> tuple[float, int] | None:
    """Sum the seconds of processor time and the bytes of a process and its descendants up."""
    own = _stat(pid)
    if own is None:
        return None
    cpu_s, rss = own
    for child in _children(pid):
        below = _tree(child)
        if below is not None:
            cpu_s, rss = cpu_s + below[0], rss + below[1]
    return cpu_s, rss


def _stat(pid: int) -> tuple[float, int] | None:
    try:
        # The name of the program, in brackets, may have spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[21]) * _PAGE


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        except OSError:
            continue
    return found
