"""Collective: the paper's Algorithm 2, one all-to-all for each part of each array."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from freestone.malleable.moving.transport import Stream, Transport, remaining
from freestone.malleable.plans import Move

__all__ = ["Collective"]


class Collective(Transport):
    """`MPI_Ialltoallv`: the blocking one polls while it waits, and serialises its messages."""

    _requests: list[Any]

    def start(self) -> None:
        """Post an all-to-all for each stream that moves anything, or some: see `_rounds`."""
        self._requests = []
        for stream in self._streams:
            for moves in _rounds(stream.moves):
                send, receive = self._words(Stream(stream.storage, stream.span, moves))
                self._requests.append(self._bridge.Ialltoallv(send, receive))

    def test(self) -> bool:
        """Tell whether this process is through with all of them."""
        self._requests = remaining(self._requests)
        return not self._requests

    def _words(self, stream: Stream) -> tuple[list[Any], list[Any]]:
        sent = {move.target: move for move in self._mine(stream, lambda move: move.source)}
        received = {move.source: move for move in self._mine(stream, lambda move: move.target)}
        return self._side(stream, sent), self._side(stream, received)

    def _side(self, stream: Stream, moves: dict[int, Move]) -> list[Any]:
        """Return buffer, counts, displacements and type of the bytes sent or received.

        The buffer begins at its first byte, so that the one sent from is never the one received
        into, as MPI wants.
        """
        from mpi4py import MPI

        size = self._bridge.size
        counts, displacements = np.zeros(size, np.int64), np.zeros(size, np.int64)
        first = min((move.start for move in moves.values()), default=0)
        last = max((move.stop for move in moves.values()), default=0)
        for other, move in moves.items():
            counts[other] = move.stop - move.start
            displacements[other] = move.start - first
        buffer = stream.storage.view(first, last) if moves else np.empty(0, np.uint8)
        return [buffer, counts.tolist(), displacements.tolist(), MPI.BYTE]


def _rounds(moves: list[Move]) -> list[list[Move]]:
    """Return the moves in as few lists as have one at most for each source and target.

    Between two contiguous blocks there is one run of rows, between runs of rows there may be more.
    """
    counts: dict[tuple[int, int], int] = defaultdict(int)
    rounds: dict[int, list[Move]] = defaultdict(list)
    for move in moves:
        pair = (move.source, move.target)
        rounds[counts[pair]].append(move)
        counts[pair] += 1
    return list(rounds.values())
