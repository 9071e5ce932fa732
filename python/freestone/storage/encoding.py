"""What workers run to write rows into a file: encode them, and put them where they belong."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from freestone.io import Writer
from freestone.io.contract import encoded
from freestone.io.stores import Draft
from freestone.io.telling import telling
from freestone.storage.drafting import place_pieces

__all__ = ["AGAIN", "encode", "encode_and_place", "encode_sized", "place_there", "write_rows"]

AGAIN: dict[str, Any] = {"pure": False, "retries": 2}
"""Of calls that write: made again, they write the same bytes at the same place."""


def encode(writer: Writer, block: Any, start: int) -> list[Any]:
    """Return the pieces of a block."""
    with telling(writer.location.url):
        return encoded(writer, block, start)


def encode_sized(writer: Writer, block: Any, start: int) -> tuple[list[Any], list[int]]:
    """Return the pieces of a block, and their sizes."""
    pieces = encode(writer, block, start)
    return pieces, [piece.nbytes for piece in pieces]


def write_rows(writer: Writer, draft: Draft, offset: int, block: Any, start: int) -> int | None:
    """Write rows a little at a time; the offset behind them, or None if the format can't."""
    if draft.path is None:
        return None
    with telling(writer.location.url):
        return writer.write_rows(draft.path, offset, block, start, threads=1, unit=draft.unit)


def encode_and_place(
    writer: Writer, draft: Draft, offsets: list[int], before: list[int], block: Any, start: int
) -> None:
    """Write a block whose place is known."""
    if len(offsets) == 1 and write_rows(writer, draft, offsets[0], block, start) is not None:
        return
    place_there(writer, draft, offsets, before, encode(writer, block, start))


def place_there(
    writer: Writer,
    draft: Draft,
    offsets: list[int],
    before: list[int],
    pieces: list[Any] | None,
) -> None:
    """Write the pieces of a block; none if they were made anew, after a loss, and written then."""
    if pieces is None:
        return
    with telling(writer.location.url):
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
