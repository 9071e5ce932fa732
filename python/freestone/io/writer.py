"""Blocks of rows into one file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from freestone.errors import UsageError
from freestone.io.stores import FileLocation

__all__ = ["Shape", "StreamWriter", "Writer", "needs_columns"]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is to be written.

    Attributes
    ----------
    kind : {"array", "frame"}
        Which.
    rows : int
        How many rows.
    columns : tuple
        The shape of a row of an array; the names of a frame's columns.
    dtype : str or None
        The dtype of an array.
    sparse : bool
        Whether blocks are CSR matrices.
    nonzeros : int or None
        How many values a sparse matrix has.
    schema : object
        The Arrow schema of a frame.
    """

    kind: Literal["array", "frame"]
    rows: int
    columns: tuple[Any, ...]
    dtype: str | None = None
    sparse: bool = False
    nonzeros: int | None = None
    schema: Any = None

    @property
    def width(self) -> int:
        """How many columns there are; 1 of a vector."""
        if self.kind == "frame":
            return len(self.columns)
        return int(self.columns[0]) if self.columns else 1


def needs_columns(location: FileLocation, shape: Shape) -> None:
    """Raise `UsageError` for rows that have no columns, in a format that has no form for them."""
    if not shape.width:
        raise UsageError(
            f"{location.url}: rows with no columns have no form here; write them as dbdf, npy or "
            "mtx"
        )


@dataclass(frozen=True, kw_only=True)
class Writer:
    """How a format lays out blocks in a file: head, then each section, block after block.

    A block is encoded into one piece for each section. Where a piece begins follows from the
    sizes of those before it, by one prefix sum; so any process can write any block.

    Attributes
    ----------
    location : FileLocation
        The file.
    shape : Shape
        What is to be written.
    """

    location: FileLocation
    shape: Shape

    @property
    def sections(self) -> int:
        """How many pieces a block is encoded into."""
        return 1

    def sizes(self, rows: int) -> list[int] | None:
        """Return how many bytes of each section so many rows take; None if only `encode` tells."""
        return None

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the pieces of a block, one for each section, as buffers.

        Parameters
        ----------
        block
            Rows.
        start
            The number of the first one.
        """
        raise NotImplementedError

    def shift(self, pieces: list[Any], before: Sequence[int]) -> list[Any]:
        """Change pieces that depend on how many bytes the sections of earlier blocks have."""
        return pieces

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return what stands before the first section, whose sizes are now known.

        It has as many bytes when they are not: with an empty `nbytes`.
        """
        return b""

    def beside(self, nbytes: Sequence[int]) -> dict[str, bytes | None]:
        """Return the small files that go with this one: what is added to its name, and content.

        None instead of content: what is there is of an earlier file, and is removed.
        """
        return {}

    def write_rows(
        self, path: str, offset: int, block: Any, start: int, *, threads: int, unit: int = 1
    ) -> int | None:
        """Write a block into a local file from an offset on; the offset behind it.

        Parameters
        ----------
        path, offset
            Where.
        block, start
            Rows, and the number of the first one.
        threads
            How many encode and write, each a piece at a time.
        unit
            Bytes that one call does not cross a multiple of; 1 if that makes no difference.

        Returns
        -------
        int or None
            None when the format has no way that takes less than `encode`.
        """
        return None


@dataclass(frozen=True, kw_only=True)
class StreamWriter:
    """How a library writes a file: by one process, block after block.

    Attributes
    ----------
    location : FileLocation
        The file.
    shape : Shape
        What is to be written.
    """

    location: FileLocation
    shape: Shape

    def begin(self, path: str, first: Any) -> Any:
        """Open a local file for writing.

        Parameters
        ----------
        path
            Where; nothing is there, or an empty file.
        first
            The first block, which says the types.
        """
        raise NotImplementedError

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        raise NotImplementedError

    def finish(self, file: Any) -> None:
        """Write what comes last, and close."""
        file.close()

    def abandon(self, file: Any) -> None:
        """Close a file that is not to be."""
        # What can't be written can't be closed, either, in some libraries.
        with contextlib.suppress(Exception):
            file.close()
