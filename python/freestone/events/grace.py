"""How long the ranks that are left may go on after one has failed or was lost."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from freestone import _native


class Grace:
    """The time that is left to the ranks of a run: any, until one fails or can't go on.

    Parameters
    ----------
    watch : EventMemory or EventMeeting
        Reports lost ranks to the others, and knows which have given up because of it.
    grace_s : float
        How long the others may take to end: a program that catches the error may have something to
        save.
    """

    def __init__(
        self, watch: _native.events.EventMemory | _native.events.EventMeeting, grace_s: float
    ) -> None:
        self._watch = watch
        self._grace_s = grace_s
        self._end = math.inf
        self.lost: set[int] = set()

    def on_failed(self) -> None:
        """Give the others little time: a rank has failed."""
        self._end = min(self._end, time.monotonic() + self._grace_s)

    def on_lost(self, rank: int) -> None:
        """Give the others little time, unless they go on without a rank that is lost."""
        if self._watch.lose(rank):
            self.lost.add(rank)

    def is_over(self) -> bool:
        """Return whether the others have had their time."""
        return time.monotonic() >= self._end

    def wait_s(self, left: Iterable[int]) -> float | None:
        """Return for how long to wait for the ranks that are left; None for as long as it takes."""
        if self.lost and any(map(self._watch.has_given_up, left)):
            # A program that computes would not hear of it before its next call.
            self.on_failed()
        wait_s = self._end - time.monotonic()
        if self.lost:
            wait_s = min(wait_s, _native.events.loss_interval_s())
        return max(wait_s, 0.0) if wait_s < math.inf else None
