"""What every writer of one file by offsets needs: the draft, and where each piece begins."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from freestone.io import Writer
from freestone.io.contract import head_of
from freestone.io.stores import Draft, FileLocation
from freestone.io.stores.posix import PosixLocation
from freestone.io.telling import telling

__all__ = ["Layout", "drafted", "place_pieces", "write_beside"]


@contextlib.contextmanager
def drafted(location: FileLocation, nbytes: int | None = None) -> Iterator[Draft]:
    """Give a draft that becomes the file unless the block raises, in which case nothing is left.

    Where files are written only from beginning to end, the draft is one of this machine.
    """
    with telling(location.url, needed=nbytes or 0):
        draft = location.create(nbytes)
        if draft is None:
            with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
                path = os.path.join(folder, "file")
                yield from _kept(PosixLocation(path).create(nbytes))
                location.upload(path)
        else:
            yield from _kept(draft)


def _kept(draft: Draft) -> Iterator[Draft]:
    try:
        yield draft
        draft.commit()
    except BaseException:
        draft.abandon()
        raise


def write_beside(writer: Writer, totals: Sequence[int]) -> None:
    """Write the small files that go with the one that was written, and remove those of another."""
    for suffix, content in writer.beside(totals).items():
        location = writer.location.beside(suffix)
        if content is None:
            location.remove()
        else:
            location.write_bytes(content)


class Layout:
    """Where each piece of each block begins."""

    def __init__(self, writer: Writer, sizes: Sequence[Sequence[int]]) -> None:
        table = np.array(sizes, np.int64).reshape(len(sizes), -1)
        self.before: Any = np.zeros_like(table)
        np.cumsum(table[:-1], axis=0, out=self.before[1:])
        self.totals: list[int] = table.sum(axis=0).tolist()
        self.head: bytes = head_of(writer, self.totals)
        sections = np.cumsum([len(self.head), *self.totals])[:-1]
        self.offsets: Any = self.before + sections

    @property
    def nbytes(self) -> int:
        """Bytes of the whole file."""
        return len(self.head) + sum(self.totals)

    def row(self, number: int) -> tuple[list[int], list[int]]:
        """Return where the sections of a block begin, and how many bytes stand before in each."""
        return self.offsets[number].tolist(), self.before[number].tolist()


def place_pieces(
    writer: Writer, draft: Draft, offsets: list[int], before: list[int], pieces: list[Any]
) -> None:
    """Write the pieces of a block where they belong."""
    shifted = writer.shift(pieces, before)
    for offset, piece in zip(offsets, shifted, strict=True):
        draft.write_at(piece, offset)
