"""Other blocks of the same rows: each new block is a call on the pieces that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone import _native
from freestone.cluster import Cluster
from freestone.collections.pieces import Piece, cut, future_of
from freestone.collections.rows import concatenate

__all__ = ["Overlap", "overlaps", "rechunked"]

Offsets = NDArray[np.int64]

_SMALL = 64 << 10


@dataclass(frozen=True, slots=True)
class Overlap:
    """Rows ``start:stop`` of old block `block`, counted within it; `whole` if those are all."""

    block: int
    start: int
    stop: int
    whole: bool


def overlaps(old: Offsets, new: Offsets) -> list[list[Overlap]]:
    """Return for each new block the parts of old blocks that it is made of, in order.

    Notes
    -----
    O(old + new). Empty parts are left out.
    """
    cuts = np.union1d(old, new)
    blocks = np.searchsorted(old, cuts[:-1], "right") - 1
    targets = np.searchsorted(new, cuts[:-1], "right") - 1
    starts, stops = cuts[:-1] - old[blocks], cuts[1:] - old[blocks]
    whole = stops - starts == np.diff(old)[blocks]
    parts: list[list[Overlap]] = [[] for _ in range(len(new) - 1)]
    columns = (blocks.tolist(), starts.tolist(), stops.tolist(), whole.tolist())
    for target, *values in zip(targets.tolist(), *columns, strict=True):
        parts[target].append(Overlap(*values))
    return parts


def rechunked(pieces: Sequence[Any], old: Offsets, new: Offsets, cluster: Cluster | None) -> Any:
    """Make the blocks between `new` from those between `old`.

    Notes
    -----
    A new block is made where most of its rows are. Rows that are elsewhere are cut out there
    first, unless they are a whole block, so that no others travel; workers send them to each
    other. Every byte is copied once by the call that makes its block, and once more if it was cut
    out.
    """
    plan = overlaps(old, new)
    if cluster is None:
        return [
            concatenate([cut(pieces[part.block], part.start, part.stop) for part in parts])
            for parts in plan
            if parts
        ]
    return _Rechunking(pieces, cluster).make(plan)


class _Rechunking:
    """The calls of one rechunk."""

    def __init__(self, pieces: Sequence[Any], cluster: Cluster) -> None:
        self.pieces = pieces
        self.cluster = cluster
        futures = [future_of(piece) for piece in pieces]
        where = cluster._manager.who_has(futures)
        self.places = [int(w[0].removeprefix("worker-")) if w else None for w in where]

    def make(self, plan: Sequence[Sequence[Overlap]]) -> list[Any]:
        return [self._block(parts) for parts in plan if parts]

    def _block(self, parts: Sequence[Overlap]) -> Any:
        first = parts[0]
        if len(parts) == 1 and first.whole:
            return self.pieces[first.block]
        if len(parts) == 1:
            return self._cut(first)
        target = self._target(parts)
        sources = [self._source(part, target) for part in parts]
        options = {"name": "rechunk", "near": target}
        return self.cluster._submit(_join, tuple(sources), {}, options)

    def _target(self, parts: Sequence[Overlap]) -> int | None:
        rows: dict[int, int] = {}
        for part in parts:
            place = self.places[part.block]
            if place is not None:
                rows[place] = rows.get(place, 0) + part.stop - part.start
        return max(rows, key=lambda place: (rows[place], -place)) if rows else None

    def _source(self, part: Overlap, target: int | None) -> Any:
        piece, place = self.pieces[part.block], self.places[part.block]
        if part.whole and not isinstance(piece, Piece):
            return piece
        if place is None or place == target:
            return cut(piece, part.start, part.stop)
        return self._cut(part)

    def _cut(self, part: Overlap) -> Any:
        piece, place = self.pieces[part.block], self.places[part.block]
        view = cut(piece, part.start, part.stop)
        # A small block may as well go to a worker that has time.
        near = place if (piece.nbytes or _SMALL) >= _SMALL else None
        return self.cluster._submit(_take, (view,), {}, {"name": "rechunk", "near": near})


def _join(*parts: Any) -> _native.Stored:
    return _native.Stored(concatenate(parts))


def _take(part: Any) -> _native.Stored:
    return _native.Stored(part)
