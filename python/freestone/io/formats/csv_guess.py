"""What the text of a CSV file shows of itself: whether its first line is a header.

A guess is made only where the text decides it. Otherwise the reader refuses the file, and says
which option decides: a header that is read as a row, or a row as a header, would go unnoticed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

__all__ = ["BIG", "BOOL", "EMPTY", "INTEGER", "NEGATIVE", "REAL", "SMALL", "TEXT", "heading"]
__all__ += ["is_date", "is_index", "is_numbered"]

EMPTY, BOOL, NEGATIVE, SMALL, BIG, REAL, TEXT = (1 << bit for bit in range(7))
INTEGER = NEGATIVE | SMALL | BIG
Cells = Sequence[tuple[bytes, bool]]

_DATE = re.compile(
    rb"\s*(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})"
    rb"([T ]?[\d:.]*(Z|[+-]\d{2}:?\d{2})?)?\s*"
)
MIN_NUMBERED = 3
"""So many whole numbers in a row, each one more than the last, are as likely names as values."""


def heading(top: Sequence[int], below: Sequence[int], lines: Sequence[Cells]) -> bool | None:
    """Tell whether the first line names the columns; None where the text does not decide it.

    Parameters
    ----------
    top, below
        What the cells of each column are, in the first line and in all others.
    lines
        The first lines.
    """
    if top[0] == EMPTY and is_index(below[0], lines):
        # Fractions are seldom names, and a zero or two may be values below a missing one.
        is_sure = len(lines) > MIN_NUMBERED or not any(one & (NEGATIVE | REAL) for one in top)
        return True if is_sure else None
    dated = [_is_dated(lines, column) for column in range(len(top))]
    has_names = any(
        one == TEXT and not is_date(cell[0]) and (below_dated or _is_typed(other))
        for one, other, cell, below_dated in zip(top, below, lines[0], dated, strict=True)
    )
    has_values = any(
        one & ~(TEXT | EMPTY) or is_date(cell[0]) for one, cell in zip(top, lines[0], strict=True)
    )
    if has_values and not has_names and is_numbered(lines[0]) and _are_reals(top, below):
        return None
    return None if has_names == has_values else has_names


def is_date(text: bytes) -> bool:
    """Tell whether a cell is a date or a time."""
    return _DATE.fullmatch(text) is not None


def is_numbered(cells: Cells) -> bool:
    """Tell whether the numbers of a line go up by one, as names of columns do, and years."""
    numbers = [int(text) for text, _ in cells if re.fullmatch(rb"\s*\d{1,9}\s*", text)]
    if any(one + 1 != other for one, other in itertools.pairwise(numbers)):
        return False
    are_years = len(numbers) > 1 and all(1900 <= number <= 2100 for number in numbers)
    return len(numbers) >= MIN_NUMBERED or are_years


def _is_typed(kinds: int) -> bool:
    """Tell whether a column has values, and none of them is text."""
    return bool(kinds & ~EMPTY) and not kinds & TEXT


def is_index(kinds: int, lines: Sequence[Cells]) -> bool:
    """Tell whether the first column numbers the rows from 0, as pandas does under an empty name."""
    numbers = [cells[0][0] for cells in lines[1:]]
    counted = [str(number).encode() for number in range(len(numbers))]
    return bool(numbers) and not kinds & ~SMALL and numbers == counted


def _is_dated(lines: Sequence[Cells], column: int) -> bool:
    """Tell whether the cells of a column are dates or times, below the first line."""
    texts = [cells[column][0] for cells in lines[1:] if len(cells) > column and cells[column][0]]
    return bool(texts) and all(map(is_date, texts))


def _are_reals(top: Sequence[int], below: Sequence[int]) -> bool:
    pairs = zip(top, below, strict=True)
    return any(one & INTEGER and other & REAL for one, other in pairs)
