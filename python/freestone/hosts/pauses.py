"""How long to wait before a worker that has ended is started again."""

from __future__ import annotations

__all__ = ["Pauses"]

SHORTEST_S, MAX_S = 0.02, 30.0
# A worker that lives this many times as long as its last pause resets the pause.
TIMES = 10


class Pauses:
    """Pauses that grow while a worker dies soon after each start, and begin anew when it lives.

    A worker that can't run must not take up the machine by starting; one that is preempted now and
    then is to be back at once, however often that was.
    """

    def __init__(self) -> None:
        self._last_s = 0.0

    def after(self, lived_s: float) -> float:
        """Return how many seconds to wait, when it lived so long; 0, if it did not come to work."""
        if lived_s >= TIMES * self._last_s:
            self._last_s = SHORTEST_S
        else:
            self._last_s = min(2 * self._last_s, MAX_S)
        return self._last_s
