"""What writers and readers of other packages give is checked: a file is never wrong in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.errors import FormatError
from freestone.io.writer import Writer

__all__ = ["check_rows", "encoded", "head_of", "sizes_of"]


def sizes_of(writer: Writer, rows: int) -> list[int] | None:
    """Return how many bytes of each section so many rows take; None if only `encode` tells.

    Raises
    ------
    FormatError
        When the writer gives no list of a number for each section.
    """
    sizes: Any = writer.sizes(rows)
    if sizes is None:
        return None
    is_list = isinstance(sizes, list | tuple) and len(sizes) == writer.sections
    if not (is_list and all(isinstance(size, int | np.integer) and size >= 0 for size in sizes)):
        given_sizes = f"sizes({rows:,}) gives {sizes!r:.80}"
        raise _wrong(writer, f"{given_sizes}; it has to be a list of {_sections(writer)}, or None")
    return [int(size) for size in sizes]


def encoded(writer: Writer, block: Any, start: int) -> list[Any]:
    """Return the pieces of a block, each as an array of bytes.

    Raises
    ------
    FormatError
        When they are not those that the writer's `sections` and `sizes` say.
    """
    rows = int(block.shape[0])
    pieces = writer.encode(block, start)
    which = f"encode() of {rows:,} rows from row {start:,} gives"
    try:
        made = [np.frombuffer(piece, np.uint8) for piece in pieces]
    except TypeError:
        types = ", ".join(type(piece).__name__ for piece in pieces)
        raise _wrong(writer, f"{which} what is of type {types}, and no bytes") from None
    if len(made) != writer.sections:
        raise _wrong(writer, f"{which} {len(made)} pieces; there are {_sections(writer)}")
    found, promised = [piece.nbytes for piece in made], sizes_of(writer, rows)
    if promised is not None and promised != found:
        raise _wrong(writer, f"{which} {found} bytes, and sizes({rows:,}) says {promised}")
    return made


def head_of(writer: Writer, nbytes: Sequence[int], reserved: int | None = None) -> bytes:
    """Return what a file begins with; `reserved` is how many bytes were left free for it.

    Raises
    ------
    FormatError
        When it is of another length, or no bytes.
    """
    head = writer.head(nbytes)
    if not isinstance(head, bytes | bytearray | memoryview):
        raise _wrong(writer, f"head() gives what is of type {type(head).__name__}, and no bytes")
    head = bytes(head)
    if reserved is not None and len(head) != reserved:
        has = f"head({list(nbytes)}) has {len(head):,} bytes, and head([]) had {reserved:,}"
        raise _wrong(writer, has)
    return head


def check_rows(rows: Any, dataset: Any) -> None:
    """Raise `FormatError` unless rows that were read are as the dataset says."""
    if dataset.kind == "frame":
        wanted, found = tuple(dataset.columns), tuple(getattr(rows, "column_names", ()))
        fits = found == wanted and hasattr(rows, "schema")
        shown = (f"a table of the columns {wanted}", f"columns {found}")
    else:
        dtype = getattr(rows, "dtype", None) if dataset.dtype is None else np.dtype(dataset.dtype)
        fits = getattr(rows, "dtype", "") == dtype and tuple(rows.shape[1:]) == dataset.columns
        of = f"of columns {dataset.columns} and dtype {dtype}"
        is_array = hasattr(rows, "dtype")
        has = f"columns {tuple(rows.shape[1:])} and dtype {rows.dtype}" if is_array else ""
        shown = (f"an array {of}", has)
    if not fits:
        wanted_text, found_text = shown
        of_type = f"{type(rows).__name__} of {found_text}" if found_text else type(rows).__name__
        reader = _name(dataset)
        reason = f"{reader}.read_rows() gives {of_type}; its dataset says {wanted_text}"
        raise FormatError(dataset.location.url, reason)


def _sections(writer: Writer) -> str:
    return f"{writer.sections} section{'' if writer.sections == 1 else 's'}"


def _wrong(writer: Writer, reason: str) -> FormatError:
    return FormatError(writer.location.url, f"{_name(writer)}.{reason}; mend the format")


def _name(thing: object) -> str:
    kind = type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"
