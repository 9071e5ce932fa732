"""Which rows of which files make a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from freestone.io.many.joining import Piece
from freestone.io.many.parts import Part

__all__ = ["Planned", "cut_into_blocks"]


@dataclass(slots=True)
class Planned:
    """Pieces of files that become a block, with how many rows and bytes of memory they have."""

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    nbytes: float = 0.0

    def add(self, piece: Piece) -> None:
        """Add a piece."""
        rows = piece.stop - piece.start
        self.pieces.append(piece)
        self.rows += rows
        self.nbytes += rows * piece.dataset.row_nbytes


def cut_into_blocks(
    parts: Sequence[Part], *, nbytes: float, block_rows: int | None = None
) -> list[Planned]:
    """Cut large files, and put small ones together, in their order.

    Parameters
    ----------
    parts
        The files.
    nbytes
        Bytes in memory of a block, about. Files are cut between chunks and row groups only.
    block_rows
        Rows of each block but the last one, whatever the bytes.

    Returns
    -------
    list of Planned
        At least one, even of no rows.
    """
    if block_rows is not None:
        return _by_rows(parts, block_rows)
    blocks, current = [], Planned()
    for piece in _pieces(parts, nbytes):
        size = (piece.stop - piece.start) * piece.dataset.row_nbytes
        if current.pieces and current.nbytes + size > nbytes:
            blocks.append(current)
            current = Planned()
        current.add(piece)
    return [*blocks, current] if current.pieces or not blocks else blocks


def _pieces(parts: Sequence[Part], nbytes: float) -> Iterator[Piece]:
    """Yield whole files, and of larger ones rows of about so many bytes, in whole units."""
    for part in parts:
        unit = max(part.dataset.unit_rows, 1)
        units = max(int(nbytes / max(part.dataset.row_nbytes, 1e-3) / unit), 1)
        for first, last in part.ranges:
            for start in range(first, last, units * unit):
                yield Piece(part.dataset, part.keys, start, min(start + units * unit, last))


def _by_rows(parts: Sequence[Part], block_rows: int) -> list[Planned]:
    blocks, current = [], Planned()
    for part in parts:
        for first, last in part.ranges:
            start = first
            while start < last:
                stop = min(start + block_rows - current.rows, last)
                current.add(Piece(part.dataset, part.keys, start, stop))
                start = stop
                if current.rows == block_rows:
                    blocks.append(current)
                    current = Planned()
    return [*blocks, current] if current.pieces or not blocks else blocks
