"""Point to point: the paper's Algorithm 1, without sizes, which the plan knows."""

from __future__ import annotations

from collections.abc import Iterator

from freestone.malleable.moving.transport import Mailing, Message
from freestone.malleable.plans import Move

__all__ = ["PointToPoint"]

# A look at a request may copy a whole message; the iteration in between should not notice.
_CHUNK = 32 << 20


class PointToPoint(Mailing):
    """A non-blocking message for each run of rows, in chunks."""

    def start(self) -> None:
        """Post all receives, then all sends."""
        self.messages = []
        for tag, stream in enumerate(self._streams):
            for move in self._mine(stream, lambda move: move.target):
                for first, last in _chunks(move):
                    view = stream.storage.view(first, last)
                    request = self._bridge.Irecv(view, move.source, tag)
                    self.messages.append(Message(move.source, request, stream.name, False))
        for tag, stream in enumerate(self._streams):
            for move in self._mine(stream, lambda move: move.source):
                for first, last in _chunks(move):
                    view = stream.storage.view(first, last)
                    request = self._bridge.Isend(view, move.target, tag)
                    self.messages.append(Message(move.target, request, stream.name, True))

    def test(self) -> bool:
        """Tell whether all messages of this process are through."""
        return self.are_through()


def _chunks(move: Move) -> Iterator[tuple[int, int]]:
    """Yield where each piece of a move begins and ends, in bytes."""
    for first in range(move.start, move.stop, _CHUNK):
        yield first, min(first + _CHUNK, move.stop)
