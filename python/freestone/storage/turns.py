"""One file of text written by many workers that take turns.

Where a part of the file begins follows from the sizes of those before it, and those only from
encoding them. Each call tells the size of its part in a ledger that all see. Who then knows where
its part begins writes it, from memory that the process uses again for its next part; else the text
is kept in the worker's cache until this program knows. Workers of one host take turns part by part,
so that hardly anything is kept; those of several hosts each write a run of the file, and all but
the first keep text.

See docs/decisions/064-text-writers-take-turns.md
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict, deque
from typing import Any, NamedTuple

import numpy as np

from freestone.client import Client, gather
from freestone.collections.base import Collection
from freestone.collections.pieces import Piece
from freestone.collections.placing import by_turns
from freestone.io import Writer
from freestone.io.contract import head_of
from freestone.io.stores import Draft
from freestone.io.telling import telling
from freestone.storage.drafting import place_pieces
from freestone.storage.encoding import AGAIN, encode, place_there, write_rows
from freestone.storage.ledger import Turn, ledger
from freestone.storage.meters import Meter

__all__ = ["write_in_turn"]

# Text of a worker that waits until it is known where it begins.
KEPT_NBYTES = 256 << 20
# Text of a part, about. Executors use so much memory again; more they map anew: see `memory.rs`.
PART_NBYTES = 12 << 20
# A number as text, and what ends it, has no more, most often.
CELL_NBYTES = 20


class Part(NamedTuple):
    """Rows that are encoded by one call."""

    rows: Any
    """A future, or a piece of its value."""
    start: int
    """The number of the first one."""
    block: int
    """Of which block they are."""


def write_in_turn(
    writer: Writer, draft: Draft, x: Collection, client: Client, options: Any, meter: Meter
) -> int:
    """Write all rows behind the head; return their bytes. `meter` is told what is written."""
    parts = _parts(writer, x)
    nbytes = [meta.nbytes for meta in x._described()]
    workers = client.statistics().workers
    places = by_turns(workers, x.where(), nbytes, [part.block for part in parts])
    text = 2 * max(nbytes, default=0) if writer.shape.sparse else PART_NBYTES
    slots = sum(worker.slots for worker in workers)
    ahead = min(max(KEPT_NBYTES // max(text, 1), 2 * slots, 1), len(parts))
    with ledger(f"{draft.path}.sizes") as path:
        calls = _Calls(writer, draft, client, options | AGAIN, parts, places, (path, slots))
        for _, place in itertools.product(range(ahead), dict.fromkeys(places)):
            calls.begin_next(place)
        for number in range(len(parts)):
            meter.add(*calls.end(number))
            # If the parts that follow are like those so far.
            meter.total = calls.written * len(parts) // (number + 1)
        gather(calls.done)
    return calls.written


def _parts(writer: Writer, x: Collection) -> list[Part]:
    """Cut blocks so that the text of a part has a good size; sparse ones stay whole."""
    rows = max(PART_NBYTES // (CELL_NBYTES * max(writer.shape.width, 1)), 1)
    parts = []
    ends = itertools.pairwise(x.offsets.tolist())
    for block, (piece, (start, stop)) in enumerate(zip(x.blocks, ends, strict=True)):
        count = 1 if writer.shape.sparse else max(-(-(stop - start) // rows), 1)
        if count == 1:
            parts.append(Part(piece, start, block))
            continue
        cuts = np.linspace(0, stop - start, count + 1).astype(int).tolist()
        for first, last in itertools.pairwise(cuts):
            parts.append(Part(_cut(piece, first, last), start + first, block))
    return parts


def _cut(piece: Any, first: int, last: int) -> Piece:
    if isinstance(piece, Piece):
        return Piece(piece.future, piece.start + first, piece.start + last)
    return Piece(piece, first, last)


class _Calls:
    """The calls that write parts: some of each place under way, and ended in the file's order."""

    def __init__(
        self,
        writer: Writer,
        draft: Draft,
        client: Client,
        options: dict[str, Any],
        parts: list[Part],
        places: list[int | None],
        ledger: tuple[str, int],
    ) -> None:
        self._writer, self._draft, self._client = writer, draft, client
        self._options, self._parts, self._places = options, parts, places
        self._ledger, self._abreast = ledger
        self._head = len(head_of(writer, []))
        self._waiting: dict[int | None, deque[int]] = defaultdict(deque)
        for number, place in enumerate(places):
            self._waiting[place].append(number)
        self._begun: dict[int, Any] = {}
        self.done: list[Any] = []
        """What ends when a part is written, for each part that has its place."""
        self.written = 0
        """Their bytes."""

    def begin_next(self, place: int | None) -> None:
        """Submit the next part of a place, if there is one left."""
        if not self._waiting[place]:
            return
        number = self._waiting[place].popleft()
        turn = Turn(
            ledger=self._ledger,
            number=number,
            front=len(self.done),
            offset=self._head + self.written,
            abreast=self._abreast,
        )
        part = self._parts[number]
        given = self._writer, self._draft, turn, self._head, part.rows, part.start
        near = {} if place is None else {"near": place}
        options = self._options | near
        self._begun[number] = self._client.submit(take_turn, given, {}, options, outputs=2)

    def end(self, number: int) -> tuple[Any, int]:
        """Wait until the size of the next part is known; what ends when it is written, and that."""
        text, reported = self._begun.pop(number)
        nbytes, is_written = reported.result()
        if not is_written:
            place = [self._head + self.written], [self.written]
            given = self._writer, self._draft, *place, text
            first = self._options | {"priority": 1}
            reported = self._client.submit(place_there, given, {}, first)
        self.done.append(reported)
        self.written += nbytes
        self.begin_next(self._places[number])
        return reported, nbytes


def take_turn(
    writer: Writer, draft: Draft, turn: Turn, head: int, block: Any, start: int
) -> tuple[list[Any] | None, tuple[int, bool]]:
    """Encode rows, and write them if it is known where they begin: what a worker runs.

    Returns
    -------
    list or None
        Their text, unless it is written.
    tuple of int and bool
        Its bytes, and whether it is written.
    """
    with telling(writer.location.url):
        offset = turn.find()
        if offset is not None:
            end = write_rows(writer, draft, offset, block, start)
            if end is not None:
                turn.tell(end - offset)
                return None, (end - offset, True)
        began = time.monotonic()
        text = encode(writer, block, start)
        nbytes = sum(piece.nbytes for piece in text)
        turn.tell(nbytes)
        # Others need about as long for theirs.
        offset = turn.find(patience_s=time.monotonic() - began)
        if offset is None:
            return text, (nbytes, False)
        place_pieces(writer, draft, [offset], [offset - head], text)
        return None, (nbytes, True)
