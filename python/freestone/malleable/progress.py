"""How far a job has come."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from freestone.malleable.targets import Status

__all__ = ["Progress"]


@dataclass
class Progress:
    """How far the loops of a job have come: what joining ranks are told of them."""

    loop: int = 0
    """The loop that runs, counted from 0."""
    index: int = 0
    """Its step."""
    done: int = 0
    """Steps of all loops that are over."""
    asked: int = -1
    """The step at which the last resize was agreed on."""
    since: float = -math.inf
    """When that was, in seconds since 1970."""
    began: float = field(default_factory=time.time)
    """When the job began."""
    spent: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Seconds in steps, and how many, by number of ranks."""

    def step_over(self, size: int, seconds: float) -> None:
        """Count a step that `size` ranks took."""
        before, count = self.spent.get(size, (0.0, 0))
        self.spent[size] = (before + seconds, count + 1)
        self.index += 1
        self.done += 1

    def loop_over(self) -> None:
        """Go on to the next loop."""
        self.loop, self.index = self.loop + 1, 0

    def break_off(self) -> None:
        """Go on to the next loop from the middle of a step, which counts as done."""
        self.done += 1
        self.loop_over()

    def status(
        self, due: int, total: int, hosts: Sequence[str], slots: int | None, resizes: int
    ) -> Status:
        """Return what is known when `due` steps will be done, of `total`."""
        return Status(
            due,
            total,
            len(hosts),
            slots,
            time.time() - self.began,
            self.means_s(),
            self.asked,
            resizes,
            self.since,
            tuple(hosts),
        )

    def means_s(self) -> dict[int, float]:
        """Return how long a step took, by number of ranks."""
        return {size: seconds / count for size, (seconds, count) in self.spent.items()}
