"""Records of a manager as it hands them over: columns in Arrow's layout, read without pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Column", "Columns", "encoded", "numbers", "records", "texts"]

# The bits of rows that are not null, the offsets of text, the data.
Column = tuple[bytes, bytes | None, bytes]
Columns = dict[str, Column]


def numbers(rows: int, column: Column) -> npt.NDArray[np.int64]:
    """Return a column of numbers; 0 for null."""
    import numpy as np

    return np.frombuffer(column[2], np.int64, rows)


def texts(rows: int, column: Column) -> list[str]:
    """Return a column of texts; empty for null."""
    import numpy as np

    offsets = np.frombuffer(column[1] or b"", np.int32, rows + 1).tolist()
    data = column[2]
    if data.isascii():
        text = data.decode()
        return [text[a:b] for a, b in pairwise(offsets)]
    # Offsets count bytes, so each text is decoded by itself.
    return [data[a:b].decode() for a, b in pairwise(offsets)]


def records(rows: int, columns: Columns) -> list[dict[str, Any]]:
    """Return rows as mappings, without what is null, in about 4 us each."""
    import numpy as np

    found: list[dict[str, Any]] = [{} for _ in range(rows)]
    for field, column in columns.items():
        valid, offsets, _ = column
        values = numbers(rows, column).tolist() if offsets is None else texts(rows, column)
        bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=rows, bitorder="little")
        for row in np.flatnonzero(bits).tolist():
            found[row][field] = values[row]
    return found


def encoded(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return rows as columns; each has all fields of the first, texts or whole numbers."""
    import numpy as np

    whole = np.packbits(np.ones(len(rows), np.uint8), bitorder="little").tobytes()
    found: Columns = {}
    for field, first in rows[0].items():
        values = [row[field] for row in rows]
        if isinstance(first, str):
            data = [value.encode() for value in values]
            offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
            found[field] = (whole, offsets.tobytes(), b"".join(data))
        else:
            found[field] = (whole, None, np.array(values, np.int64).tobytes())
    return found
