"""One file written by many workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.client import Client, gather
from freestone.collections.base import Collection
from freestone.io import Writer
from freestone.io.contract import head_of, sizes_of
from freestone.storage.drafting import Layout, drafted, place_pieces, write_beside
from freestone.storage.encoding import (
    AGAIN,
    encode,
    encode_and_place,
    encode_sized,
    place_there,
)
from freestone.storage.meters import Meter
from freestone.storage.turns import write_in_turn

__all__ = ["write_there"]

Pairs = list[tuple[Any, int]]


def write_there(writer: Writer, x: Collection, client: Client, meter: Meter) -> None:
    """Write from the workers, each block by one that has it.

    Where a block begins follows from the sizes of those before it. Of values that all take as many
    bytes they are known beforehand, and a block is encoded and written in one call. Of other text
    parts of blocks are encoded in turn, and tell their sizes to each other: see `turns`.
    Where a file has several sections, all blocks are encoded before any is written. `meter` is told
    what is written.
    """
    options: dict[str, Any] = {"near": "input", "name": f"write {writer.location.name}"}
    counts, starts = np.diff(x.offsets).tolist(), x.offsets[:-1].tolist()
    pairs = list(zip(x.blocks, starts, strict=True))
    sizes = [sizes_of(writer, count) for count in counts]
    if not writer.location.random:
        _write_gathered(writer, pairs, client, options)
    elif all(each is not None for each in sizes):
        _write_known(writer, pairs, sizes, client, options, meter)
    elif writer.sections == 1:
        _write_in_turn(writer, x, client, options, meter)
    else:
        _write_in_two_steps(writer, pairs, client, options, meter)


def _write_gathered(writer: Writer, pairs: Pairs, client: Client, options: Any) -> None:
    """Encode there and write here, where a file is written from its beginning to its end."""
    encoded = [client.submit(encode, (writer, *pair), {}, options) for pair in pairs]
    with drafted(writer.location) as draft:
        pieces = gather(encoded)
        layout = Layout(writer, _all_sizes(pieces))
        draft.write_at(layout.head, 0)
        for number, each in enumerate(pieces):
            place_pieces(writer, draft, *layout.row(number), each)
        write_beside(writer, layout.totals)


def _write_known(
    writer: Writer, pairs: Pairs, sizes: Any, client: Client, options: Any, meter: Meter
) -> None:
    layout, again = Layout(writer, sizes), options | AGAIN
    with drafted(writer.location, layout.nbytes) as draft:
        draft.write_at(layout.head, 0)
        written = [
            client.submit(encode_and_place, (writer, draft, *layout.row(number), *pair), {}, again)
            for number, pair in enumerate(pairs)
        ]
        _count(meter, written, sizes)
        gather(written)
        write_beside(writer, layout.totals)


def _write_in_turn(
    writer: Writer, x: Collection, client: Client, options: Any, meter: Meter
) -> None:
    with drafted(writer.location) as draft:
        reserved = len(head_of(writer, []))
        totals = [write_in_turn(writer, draft, x, client, options, meter)]
        draft.write_at(head_of(writer, totals, reserved), 0)
        write_beside(writer, totals)


def _write_in_two_steps(
    writer: Writer, pairs: Pairs, client: Client, options: Any, meter: Meter
) -> None:
    """Encode all blocks, learn the sizes of all sections, and write."""
    encoded = [
        client.submit(encode_sized, (writer, *pair), {}, options, outputs=2) for pair in pairs
    ]
    sizes = gather([each for _, each in encoded])
    layout = Layout(writer, sizes)
    again = options | AGAIN
    with drafted(writer.location, layout.nbytes) as draft:
        draft.write_at(layout.head, 0)
        written = [
            client.submit(place_there, (writer, draft, *layout.row(number), pieces), {}, again)
            for number, (pieces, _) in enumerate(encoded)
        ]
        _count(meter, written, sizes)
        gather(written)
        write_beside(writer, layout.totals)


def _count(meter: Meter, written: list[Any], sizes: list[list[int]]) -> None:
    """Count the bytes of blocks as they are written."""
    meter.total = sum(map(sum, sizes))
    for future, each in zip(written, sizes, strict=True):
        meter.add(future, sum(each))


def _all_sizes(blocks: list[list[Any]]) -> list[list[int]]:
    return [[memoryview(piece).nbytes for piece in pieces] for pieces in blocks]
