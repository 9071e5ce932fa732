"""Who watches a run gets what happens, each all of it: the manager hands a record over once."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freestone._native.manager import Manager
    from freestone.observe.columns import Columns

__all__ = ["Recorder", "Watch"]

Part = tuple[int, "Columns"]


class Recorder:
    """Has a manager record what happens while there is somebody who watches.

    Parameters
    ----------
    manager
        Whose records; unless somebody asks, it keeps the last 131,072.
    is_traced
        Whether it records anyway, from its beginning.
    """

    def __init__(self, manager: Manager, is_traced: bool) -> None:
        self._manager = manager
        # Records of a traced run wait for the first that watches.
        self._has_beginning = is_traced
        self._lock = threading.Lock()
        self._watches: list[Watch] = []

    def watch(self, limit: int | None = None, *, wants_beginning: bool = False) -> Watch:
        """Begin to watch.

        Parameters
        ----------
        limit
            Keep about as many records until they are taken, the last; by default all.
        wants_beginning
            Have what a traced run has recorded so far, if nobody has had it.
        """
        with self._lock:
            watch = Watch(self, limit, wants_beginning and self._has_beginning)
            if not watch.is_whole:
                self._hand_over()
            self._has_beginning = False
            self._watches.append(watch)
            self._manager.observe(True)
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
        rows, columns = self._manager.recent_columns()
        for watch in self._watches if rows else ():
            watch.add(rows, columns)

    def stop(self, watch: Watch) -> None:
        """End a watch; the manager records no more when it was the last."""
        with self._lock:
            if watch in self._watches:
                self._watches.remove(watch)
                if not self._watches and not self._manager.closed:
                    self._manager.observe(False)


class Watch:
    """What happens from now on, as it is taken; from `Recorder.watch`.

    Attributes
    ----------
    is_whole : bool
        Whether it has the run from its beginning, as the run is traced.
    parts : deque
        What was not taken yet.
    """

    def __init__(self, recorder: Recorder, limit: int | None, is_whole: bool) -> None:
        self._recorder, self._limit = recorder, limit
        self.is_whole = is_whole
        self.parts: deque[Part] = deque()

    def add(self, rows: int, columns: Columns) -> None:
        """Keep records until they are taken; by the recorder alone."""
        self.parts.append((rows, columns))
        if self._limit is not None:
            while len(self.parts) > 1 and sum(rows for rows, _ in self.parts) > self._limit:
                self.parts.popleft()

    def take(self) -> list[Part]:
        """Return what happened since the last time, in order."""
        return self._recorder.take(self)

    def stop(self) -> None:
        """Watch no more."""
        self._recorder.stop(self)
