"""Who watches a run gets what happens, each all of it: the manager hands a record over once."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from freestone.observe.columns import encoded

if TYPE_CHECKING:
    from freestone._native.manager import Manager
    from freestone.observe.columns import Columns
    from freestone.observe.logs import Collector

__all__ = ["Recorder", "Watch"]

Part = tuple[int, "Columns"]


# Of a traced run, who looks first later on is shown so many records.
_REMEMBERED = 1 << 17


class Recorder:
    """Has a manager record what happens while there is somebody who watches.

    Parameters
    ----------
    manager
        Whose records.
    is_traced
        Whether it records anyway, from its beginning.
    logs
        Gets samples of where calls spend their time, which become records, too.
    """

    def __init__(self, manager: Manager, is_traced: bool, logs: Collector | None = None) -> None:
        self._manager, self._logs = manager, logs
        self._lock = threading.Lock()
        self._failed_ns = 0
        self._watches: list[Watch] = []
        self._beginning = Watch(self, _REMEMBERED) if is_traced else None
        if logs is not None:
            logs.samples.keep_new(is_traced)

    def watch(self, limit: int | None = None, *, wants_beginning: bool = False) -> Watch:
        """Begin to watch.

        Parameters
        ----------
        limit
            Keep about as many records until they are taken, the last; by default all.
        wants_beginning
            Have the last 131,072 records of a traced run so far, too.
        """
        watch = Watch(self, limit)
        with self._lock:
            self._hand_over()
            if not self._watches and self._beginning is None:
                # What failed while nobody watched is not part of what is watched.
                self._failed_ns = time.monotonic_ns()
            if wants_beginning and self._beginning is not None:
                watch.parts.extend(self._beginning.parts)
                watch.is_whole = not self._beginning.is_cut
            self._watches.append(watch)
            self._observe()
        return watch

    def poll(self) -> None:
        """Hand over what happened since the last time."""
        with self._lock:
            self._hand_over()

    def take(self, watch: Watch) -> list[Part]:
        """Return what happened since a watch has taken the last time."""
        with self._lock:
            self._hand_over()
            parts = list(watch.parts)
            watch.parts.clear()
        return parts

    def _hand_over(self) -> None:
        if self._manager.closed:
            return
        parts = [*self._manager.take_columns(), *self._samples()]
        for rows, columns in (*parts, *self._failures(parts)):
            for watch in (*self._watches, *filter(None, [self._beginning])):
                watch.add(rows, columns)

    def _failures(self, parts: list[Part]) -> list[Part]:
        """Return what failed for good, with tracebacks; asked if an attempt did not end well."""
        if not any(map(_has_failed, parts)):
            return []
        found = [
            {"kind": "failure", "attempt": failure.pop("attempts"), **failure}
            for failure in self._manager.overview(0)["failures"]
            if failure["at_ns"] > self._failed_ns
        ]
        if not found:
            return []
        self._failed_ns = max(failure["at_ns"] for failure in found)
        return [(len(found), encoded([{**one, "worker": one["worker"] or ""} for one in found]))]

    def _samples(self) -> list[Part]:
        if self._logs is None:
            return []
        self._logs.take()
        found = self._logs.samples.take_new()
        return [(len(found), encoded(found))] if found else []

    def _observe(self) -> None:
        wants_all = any(watch.limit is None for watch in self._watches)
        self._manager.observe(bool(self._watches), wants_all or self._beginning is not None)
        if self._logs is not None:
            self._logs.samples.keep_new(bool(self._watches) or self._beginning is not None)

    def stop(self, watch: Watch) -> None:
        """End a watch; the manager records no more when it was the last."""
        with self._lock:
            if watch in self._watches:
                self._watches.remove(watch)
                if not self._manager.closed:
                    self._observe()


def _has_failed(part: Part) -> bool:
    """Whether an attempt did not end well, by a look at the texts of the column."""
    _, columns = part
    texts = columns["ended"][2] if "ended" in columns else b""
    return texts != b"done" * (len(texts) // 4)


class Watch:
    """What happens from now on, as it is taken; from `Recorder.watch`.

    Attributes
    ----------
    is_whole : bool
        Whether it has the run from its beginning, as the run is traced.
    is_cut : bool
        Whether some were dropped that nobody had taken.
    limit : int or None
        How many are kept until they are taken.
    parts : deque
        What was not taken yet.
    """

    def __init__(self, recorder: Recorder, limit: int | None) -> None:
        self._recorder = recorder
        self.limit: int | None = limit
        self.is_whole: bool = False
        self.is_cut: bool = False
        self.parts: deque[Part] = deque()

    def add(self, rows: int, columns: Columns) -> None:
        """Keep records until they are taken; by the recorder alone."""
        self.parts.append((rows, columns))
        if self.limit is not None:
            while len(self.parts) > 1 and sum(rows for rows, _ in self.parts) > self.limit:
                self.parts.popleft()
                self.is_cut = True

    def take(self) -> list[Part]:
        """Return what happened since the last time, in order."""
        return self._recorder.take(self)

    def stop(self) -> None:
        """Watch no more."""
        self._recorder.stop(self)
