"""Point to point: the paper's Algorithm 1, without sizes, which the plan knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from freestone.malleable.moving.transport import Transport, remaining
from freestone.malleable.plans import Move

__all__ = ["PointToPoint", "chunks"]

# A look at a request may copy a whole message; the iteration in between should not notice.
_CHUNK = 32 << 20


class PointToPoint(Transport):
    """A non-blocking message for each run of rows, in chunks."""

    _requests: list[Any]

    def start(self) -> None:
        """Post all receives, then all sends."""
        self._requests = []
        for tag, stream in enumerate(self._streams):
            for move in self._mine(stream, lambda move: move.target):
                for first, last in chunks(move):
                    view = stream.storage.view(first, last)
                    self._requests.append(self._bridge.Irecv(view, move.source, tag))
        for tag, stream in enumerate(self._streams):
            for move in self._mine(stream, lambda move: move.source):
                for first, last in chunks(move):
                    view = stream.storage.view(first, last)
                    self._requests.append(self._bridge.Isend(view, move.target, tag))

    def test(self) -> bool:
        """Tell whether all messages of this process are through."""
        self._requests = remaining(self._requests)
        return not self._requests


def chunks(move: Move) -> Iterator[tuple[int, int]]:
    """Yield where each piece of a move begins and ends, in bytes."""
    for first in range(move.start, move.stop, _CHUNK):
        yield first, min(first + _CHUNK, move.stop)
