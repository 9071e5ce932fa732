"""Copying within a host: who gets rows maps the memory of who has them, and no message carries any.

A message between processes of a host is a copy by the system, page by page and at less than half
of the speed; a copy out of mapped memory is as fast as any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from freestone.malleable.moving.p2p import PointToPoint, chunks
from freestone.malleable.moving.transport import Mailing, Stream, Transport
from freestone.malleable.plans import Move
from freestone.malleable.storage import Handle, Storage

__all__ = ["Both", "Copying"]

_TAG_HELD, _TAG_TAKEN = 5001, 5002
# Few enough pages of the other's memory that their table stays in the processor's cache.
_AT_ONCE = 2 << 20


class Copying(Mailing):
    """Sources say where their memory is, targets copy from it and say when they are through."""

    def start(self) -> None:
        """Tell all targets of this process where its memory is, which they may read from now on."""
        handles = [stream.storage.handle("") for stream in self._streams]
        place = np.array([[one.pid, one.descriptor] for one in handles], np.int64)
        none = np.empty(0, np.uint8)
        self.requests = []
        self._told: dict[int, tuple[Any, Any]] = {}
        self._copies: Iterator[bool] | None = None
        for target in self._others(lambda move: (move.source, move.target)):
            self.requests.append((target, self._bridge.Isend(place, target, _TAG_HELD)))
            self.requests.append((target, self._bridge.Irecv(none, target, _TAG_TAKEN)))
        for source in self._others(lambda move: (move.target, move.source)):
            buffer = np.empty_like(place)
            self._told[source] = (self._bridge.Irecv(buffer, source, _TAG_HELD), buffer)

    def test(self) -> bool:
        """Copy a chunk, if there is one, and tell whether all of this process is through."""
        if self._copies is None:
            self._copies = self._next_copies()
        elif not next(self._copies, False):
            self._copies = None
        return self.are_through() and not (self._told or self._copies)

    def _next_copies(self) -> Iterator[bool] | None:
        """Return the copies from a source that has said where its memory is."""
        for source, (request, place) in self._told.items():
            if request.Test():
                del self._told[source]
                return self._copy(source, place.tolist())
        return None

    def _copy(self, source: int, place: list[list[int]]) -> Iterator[bool]:
        """Copy chunk by chunk; what was copied does not count as memory of this process."""
        for stream, (pid, descriptor) in zip(self._streams, place, strict=True):
            moves = self._mine(stream, lambda move: move.target)
            wanted = [move for move in moves if move.source == source]
            if not wanted:
                continue
            theirs = Storage(stream.storage.nbytes, handle=Handle("", pid, descriptor))
            for first, last in (piece for move in wanted for piece in chunks(move)):
                for start in range(first, last, _AT_ONCE):
                    stop = min(start + _AT_ONCE, last)
                    np.copyto(stream.storage.view(start, stop), theirs.view(start, stop))
                    theirs.forget(start, stop)
                yield True
        request = self._bridge.Isend(np.empty(0, np.uint8), source, _TAG_TAKEN)
        self.requests.append((source, request))

    def _others(self, ends: Callable[[Move], tuple[int, int]]) -> list[int]:
        """Return the processes that moves have at the other end, of those with this one at one."""
        pairs = (ends(move) for stream in self._streams for move in stream.moves)
        return sorted({other for mine, other in pairs if mine == self._rank})


class Both(Transport):
    """Copies within hosts, and messages between them."""

    def __init__(
        self,
        bridge: Any,
        near: list[Stream],
        far: list[Stream],
        timeout_s: float,
    ) -> None:
        super().__init__(bridge, [*near, *far], timeout_s)
        self._parts: list[Transport] = [
            Copying(bridge, near, timeout_s),
            PointToPoint(bridge, far, timeout_s),
        ]

    def start(self) -> None:
        """Begin with both."""
        for part in self._parts:
            part.start()

    def test(self) -> bool:
        """Tell whether this process is through with both."""
        return all([part.test() for part in self._parts])

    def drop(self, sources: int) -> None:
        """No longer wait for processes from `sources` on, in either."""
        for part in self._parts:
            part.drop(sources)

    def finish(self) -> None:
        """Let go of what both needed."""
        for part in self._parts:
            part.finish()
