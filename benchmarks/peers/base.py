"""What a system must be able to do to be compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

WORKERS = 2


class Peer(ABC):
    """A system with two single-threaded workers, started and warm once entered.

    Arguments of calls are distinct numbers, so that nothing is answered from a cache.
    """

    has_map = True
    """Whether it has an API to call a function with each of many arguments."""

    def __init__(self) -> None:
        self._next = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def unused(self, count: int) -> range:
        """Return `count` numbers that were not given before."""
        self._next += count
        return range(self._next - count, self._next)

    @abstractmethod
    def start(self) -> None:
        """Start the workers and return when each has run a call."""

    @abstractmethod
    def stop(self) -> None:
        """End the workers and everything else that was started."""

    @abstractmethod
    def map(self, count: int) -> None:
        """Make `count` no-op calls by the API for many calls, and wait for all results."""

    @abstractmethod
    def submit(self, count: int) -> None:
        """Make `count` no-op calls one by one, and wait for all results."""

    @abstractmethod
    def chain(self, count: int) -> Any:
        """Make `count` calls, each with the result of the one before; the last result."""

    @abstractmethod
    def tree(self, leaves: int) -> Any:
        """Add `leaves` results of calls up in pairs, by calls; the sum."""

    @abstractmethod
    def round_trip(self) -> None:
        """Make one no-op call and wait for its result."""


def pairwise(level: list[Any], combine: Any) -> Any:
    """Combine neighbours until one is left; the odd one goes up as it is."""
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [combine(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)] + odd
    return level[0]
