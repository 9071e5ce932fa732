"""Other blocks of the same rows: each new block is a call on the pieces that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone import _native
from freestone.client import Client
from freestone.collections.pieces import Piece, cut, future_of
from freestone.collections.rows import concatenate
from freestone.observe.workers import worker_number

__all__ = ["Overlap", "RechunkCost", "overlaps", "rechunk_cost", "rechunked"]

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


def rechunked(pieces: Sequence[Any], old: Offsets, new: Offsets, client: Client | None) -> Any:
    """Make the blocks between `new` from those between `old`.

    Notes
    -----
    A new block is made where most of its rows are. Rows that are elsewhere are cut out there
    first, unless they are a whole block, so that no others travel; workers send them to each
    other. Every byte is copied once by the call that makes its block, and once more if it was cut
    out.
    """
    plan = overlaps(old, new)
    if client is None:
        return [
            concatenate([cut(pieces[part.block], part.start, part.stop) for part in parts])
            for parts in plan
            if parts
        ]
    return _Rechunking(pieces, client).make(plan)


@dataclass(frozen=True, slots=True)
class RechunkCost:
    """What a rechunk would take.

    Attributes
    ----------
    moved_nbytes : int
        Bytes that go from one worker to another.
    copied_nbytes : int
        Bytes of the blocks that are made.
    peak_nbytes : int
        What the fullest worker holds in the end, old blocks and new ones.
    """

    moved_nbytes: int
    copied_nbytes: int
    peak_nbytes: int


def rechunk_cost(
    pieces: Sequence[Any],
    old: Offsets,
    new: Offsets,
    nbytes: NDArray[np.int64],
    client: Client | None,
) -> RechunkCost:
    """Return what `rechunked` would move, copy and hold; `nbytes` are those of the old blocks."""
    per_row = (nbytes / np.maximum(np.diff(old), 1)).tolist()
    places = _places(pieces, client)
    moved = copied = 0.0
    held: dict[int | None, float] = {}
    for place, size in zip(places, nbytes.tolist(), strict=True):
        held[place] = held.get(place, 0) + size
    for parts in overlaps(old, new):
        if not parts or (len(parts) == 1 and parts[0].whole):
            continue
        target = _target(parts, places)
        sizes = [(part.stop - part.start) * per_row[part.block] for part in parts]
        here = [places[part.block] == target for part in parts]
        moved += sum(size for size, is_here in zip(sizes, here, strict=True) if not is_here)
        copied += sum(sizes)
        held[target] = held.get(target, 0) + sum(sizes)
    return RechunkCost(round(moved), round(copied), round(max(held.values())))


def _places(pieces: Sequence[Any], client: Client | None) -> list[int | None]:
    """Return the number of a worker that holds each piece; None where there is none."""
    if client is None:
        return [None] * len(pieces)
    where = client.who_has([future_of(piece) for piece in pieces])
    return [worker_number(w[0]) if w else None for w in where]


def _target(parts: Sequence[Overlap], places: Sequence[int | None]) -> int | None:
    """Return where most rows of a new block are."""
    rows: dict[int, int] = {}
    for part in parts:
        place = places[part.block]
        if place is not None:
            rows[place] = rows.get(place, 0) + part.stop - part.start
    return max(rows, key=lambda place: (rows[place], -place)) if rows else None


class _Rechunking:
    """The calls of one rechunk."""

    def __init__(self, pieces: Sequence[Any], client: Client) -> None:
        self.pieces = pieces
        self.client = client
        self.places = _places(pieces, client)

    def make(self, plan: Sequence[Sequence[Overlap]]) -> list[Any]:
        """Make the new blocks."""
        return [self._block(parts) for parts in plan if parts]

    def _block(self, parts: Sequence[Overlap]) -> Any:
        first = parts[0]
        if len(parts) == 1 and first.whole:
            return self.pieces[first.block]
        if len(parts) == 1:
            return self._cut(first)
        target = _target(parts, self.places)
        sources = [self._source(part, target) for part in parts]
        options = {"name": "rechunk", "near": target}
        return self.client.submit(_join, tuple(sources), {}, options)

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
        return self.client.submit(_take, (view,), {}, {"name": "rechunk", "near": near})


def _join(*parts: Any) -> _native.blocks.Stored:
    return _native.blocks.Stored(concatenate(parts))


def _take(part: Any) -> _native.blocks.Stored:
    return _native.blocks.Stored(part)
