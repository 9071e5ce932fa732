"""One file written by many workers."""

from __future__ import annotations

import mmap
from collections import deque
from typing import Any

import numpy as np

from freestone.cluster import Cluster
from freestone.collections.base import Collection
from freestone.collections.drafting import Layout, drafted, place_pieces, write_beside
from freestone.collections.meters import Meter
from freestone.io import Writer
from freestone.io.stores import Draft
from freestone.io.telling import telling

__all__ = ["write_there"]


def write_there(writer: Writer, x: Collection, cluster: Cluster, meter: Meter) -> None:
    """Write from the workers, each block by the one that has it.

    Where a block begins follows from the sizes of those before it. Of values that all take as many
    bytes they are known beforehand, and a block is encoded and written in one call. Else blocks are
    encoded first; behind each whose predecessors' sizes are known a call writes it. Where others
    wait for a worker's sizes, it encodes its blocks before it writes any, if it can keep their
    text. `meter` is told what is written.
    """
    options: dict[str, Any] = {"near": "input", "name": f"write {writer.place.name}"}
    counts, starts = np.diff(x.offsets).tolist(), x.offsets[:-1].tolist()
    pairs = list(zip(x.blocks, starts, strict=True))
    sizes = [writer.sizes(count) for count in counts]
    if not writer.place.random:
        _write_gathered(writer, pairs, cluster, options)
    elif all(each is not None for each in sizes):
        _write_known(writer, pairs, sizes, cluster, options, meter)
    elif writer.sections == 1:
        _write_in_turn(writer, pairs, cluster, options, meter)
    else:
        _write_in_two_steps(writer, pairs, cluster, options, meter)


# Text of a worker's blocks that it keeps until it writes the first of them.
KEPT_NBYTES = 512 << 20
# Written again where it was, after a worker is lost: the same bytes at the same place.
_AGAIN: dict[str, Any] = {"pure": False, "retries": 2}
Pairs = list[tuple[Any, int]]


def _write_gathered(writer: Writer, pairs: Pairs, cluster: Cluster, options: Any) -> None:
    """Encode there and write here, where a file is written from its beginning to its end."""
    encoded = [cluster._submit(_encode, (writer, *pair), {}, options) for pair in pairs]
    with drafted(writer.place) as draft:
        pieces = cluster.gather(encoded)
        layout = Layout(writer, _all_sizes(pieces))
        draft.write_at(layout.head, 0)
        for number, each in enumerate(pieces):
            place_pieces(writer, draft, *layout.row(number), each)
        write_beside(writer, layout.totals)


def _write_known(
    writer: Writer, pairs: Pairs, sizes: Any, cluster: Cluster, options: Any, meter: Meter
) -> None:
    layout, again = Layout(writer, sizes), options | _AGAIN
    with drafted(writer.place, layout.nbytes) as draft:
        draft.write_at(layout.head, 0)
        written = [
            cluster._submit(
                _encode_and_place, (writer, draft, *layout.row(number), *pair), {}, again
            )
            for number, pair in enumerate(pairs)
        ]
        _count(meter, written, sizes)
        cluster.gather(written)
        write_beside(writer, layout.totals)


def _write_in_turn(
    writer: Writer, pairs: Pairs, cluster: Cluster, options: Any, meter: Meter
) -> None:
    encoded = _encoded(writer, pairs, cluster, options)
    again, workers = options | _AGAIN, max(len(cluster.statistics().workers), 1)
    with drafted(writer.place) as draft:
        head = len(writer.head([]))
        end, written = head, []
        # The first is taken out each time, so that its text is dropped when it is written.
        while encoded:
            pieces, size = encoded.popleft()
            (nbytes,) = size.result()
            given = writer, draft, [end], [end - head], pieces
            waited_for = workers > 1 and nbytes * len(pairs) <= KEPT_NBYTES * workers
            # Else a block is written before those are encoded that still wait.
            when = again if waited_for else again | {"priority": 1}
            written.append(cluster._submit(_place_there, given, {}, when))
            del pieces, given
            end += nbytes
            meter.add(written[-1], nbytes)
            # If the blocks that follow are like those so far.
            meter.total = (end - head) * len(pairs) // len(written)
        totals = [end - head]
        draft.write_at(writer.head(totals), 0)
        cluster.gather(written)
        write_beside(writer, totals)


def _encoded(writer: Writer, pairs: Pairs, cluster: Cluster, options: Any) -> deque[Any]:
    """Submit the calls that encode blocks; for each the futures of its pieces and their sizes."""
    return deque(
        cluster._submit(_encode_sized, (writer, *pair), {}, options, outputs=2) for pair in pairs
    )


def _write_in_two_steps(
    writer: Writer, pairs: Pairs, cluster: Cluster, options: Any, meter: Meter
) -> None:
    """Encode all blocks, learn the sizes of all sections, and write."""
    encoded = _encoded(writer, pairs, cluster, options)
    sizes = cluster.gather([each for _, each in encoded])
    layout = Layout(writer, sizes)
    again = options | _AGAIN
    with drafted(writer.place, layout.nbytes) as draft:
        draft.write_at(layout.head, 0)
        written = [
            cluster._submit(_place_there, (writer, draft, *layout.row(number), pieces), {}, again)
            for number, (pieces, _) in enumerate(encoded)
        ]
        _count(meter, written, sizes)
        cluster.gather(written)
        write_beside(writer, layout.totals)


def _count(meter: Meter, written: list[Any], sizes: list[list[int]]) -> None:
    """Count the bytes of blocks as they are written."""
    meter.total = sum(map(sum, sizes))
    for future, each in zip(written, sizes, strict=True):
        meter.add(future, sum(each))


def _all_sizes(blocks: list[list[Any]]) -> list[list[int]]:
    return [[memoryview(piece).nbytes for piece in pieces] for pieces in blocks]


# -- what workers run ------------------------------------------------------------------------------


def _encode(writer: Writer, block: Any, start: int) -> list[Any]:
    with telling(writer.place.url):
        return [np.frombuffer(piece, np.uint8) for piece in writer.encode(block, start)]


def _encode_sized(writer: Writer, block: Any, start: int) -> tuple[list[Any], list[int]]:
    pieces = _encode(writer, block, start)
    return pieces, [piece.nbytes for piece in pieces]


def _place_there(
    writer: Writer, draft: Draft, offsets: list[int], before: list[int], pieces: list[Any]
) -> None:
    with telling(writer.place.url):
        for piece in pieces:
            _touch(piece)
        place_pieces(writer, draft, offsets, before, pieces)


def _touch(piece: Any) -> None:
    """Have the pages of mapped bytes at hand.

    A file system lets one writer at a time into a file, and who is in it has to wait for each page
    that is not.
    """
    pages = np.frombuffer(piece, np.uint8)[:: mmap.PAGESIZE]
    if pages.size:
        pages.max()


def _encode_and_place(
    writer: Writer, draft: Draft, offsets: list[int], before: list[int], block: Any, start: int
) -> None:
    with telling(writer.place.url):
        pieces = writer.encode(block, start)
    _place_there(writer, draft, offsets, before, pieces)
