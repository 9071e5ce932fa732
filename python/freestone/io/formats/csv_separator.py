"""What separates the cells of a CSV file, as its first lines show it."""

from __future__ import annotations

import re
from dataclasses import replace

from freestone.errors import UsageError
from freestone.io.formats.csv_guess import is_date
from freestone.io.formats.csv_marks import Marks

__all__ = ["NONE", "byte_of", "has_bare_returns", "separator_of"]

NONE = "\x1f"
"""What separates the cells of a file that has one column: a character that no text has."""
_QUOTED = re.compile(rb'"[^"]*"')
# Numbers with a decimal comma or point, or with commas between thousands.
_NUMBER = re.compile(
    rb"\s*[-+]?(?:\d+(?:[.,]\d*)?|\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d{1,3}(?:\.\d{3})+(?:,\d*)?)"
    rb"(?:[eE][-+]?\d+)?\s*"
)


def byte_of(delimiter: str) -> int:
    """Return the byte of a separator, or of its name."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, str(delimiter))
    if (
        len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in '"\r\n.-+'
        or delimiter.isalnum()
    ):
        raise UsageError(
            f"separator={delimiter!r}: it is one ASCII character that no number, quote or line end "
            "has"
        )
    return ord(delimiter)


def has_bare_returns(text: bytes) -> bool:
    """Tell whether a line has CRs in front of its end that are not in quotes."""
    return b"\r" in text.rstrip(b"\r\n") and b"\r" in _QUOTED.sub(b"", text).rstrip(b"\r\n")


def separator_of(text: bytes, named: Marks | None = None) -> str:
    """Return what separates the cells of some lines, `NONE` if they are cells of one column.

    It is a comma unless it is surely another one. A mark that the caller names is in numbers: it
    separates none, unless the numbers that have it are in quotes.

    Raises
    ------
    ValueError
        When nothing shows what separates cells: two characters could, or none does beside commas
        that are named as marks of numbers.
    """
    marks = (named.decimal + named.thousands) if named else ""
    lines = [line.rstrip(b"\r") for line in _QUOTED.sub(b'"', text).split(b"\n")]
    lines = [line for line in lines if line]
    found = _other_separator(lines, named, marks) if lines else None
    if found is not None:
        return found
    if named is None or "," not in marks:
        return ","
    with_commas = [line for line in lines if b"," in line]
    if all(named.is_number(line) for line in with_commas):
        return NONE
    in_quotes = (cell[1:-1] for cell in _QUOTED.findall(text) if b"," in cell)
    if _cells(lines, b",") and any(map(named.is_number, in_quotes)):
        return ","
    option = "decimal" if named.decimal == "," else "thousands"
    wrong = next(line for line in with_commas if not named.is_number(line))
    raise ValueError(
        f"{option}=',' is for commas in numbers, and nothing shows what else is between cells: "
        f"{wrong[:80].decode(errors='replace')!r} is no such number, as a line of one column would "
        f"be; pass separator= (a character that it does not have, if it is one column), or leave "
        f"{option}= out if commas are between cells"
    )


def _other_separator(lines: list[bytes], named: Marks | None, marks: str) -> str | None:
    """Return what separates the cells of lines, if it is surely no comma.

    Of two that could, it is the one between which more cells are numbers or dates.
    """
    found = {separator: _cells(lines, separator) for separator in (b";", b"\t", b"|", b",")}
    if found[b"\t"]:
        # Nobody has a tab in each row for anything else.
        return "\t"
    by_commas = found.pop(b",")
    kept = {separator: cells for separator, cells in found.items() if cells}
    if not kept:
        return "," if by_commas and "," not in marks else _blank(lines, marks)
    if len(kept) == 1:
        only, cells = next(iter(kept.items()))
        if all(_is_number(cell, named) for cell in cells if b"," in cell):
            return only.decode()
    if by_commas:
        kept[b","] = by_commas
    counts = {
        separator: sum(_is_number(cell, named) or is_date(cell) for cell in cells)
        for separator, cells in kept.items()
    }
    best = [separator for separator, count in counts.items() if count == max(counts.values())]
    if len(lines) == 1 and min(counts.values()):
        # One line is too few to count by where either leaves numbers.
        best = list(kept)
    if "," in marks:
        # That it alone is between numbers contradicts its name.
        best = [separator for separator in best if separator != b","] or list(kept)
    if len(best) > 1:
        one, other = (separator.decode() for separator in best[:2])
        raise ValueError(
            f"both {one!r} and {other!r} could be between its cells, as in "
            f"{lines[0][:80].decode(errors='replace')!r}; pass separator= with the one that is"
        )
    return best[0].decode()


def _blank(lines: list[bytes], marks: str) -> str | None:
    """Return a blank if single ones are between numbers in all lines, below words perhaps."""
    rows = [line.split() for line in lines]
    # Where several blanks pad a number, they are no separator.
    cuts_alike = lines[0].count(b" ") + 1 == len(rows[0]) and bool(_cells(lines, b" "))
    has_commas = "," not in marks and any(b"," in line for line in lines)
    if " " in marks or has_commas or not cuts_alike or len({*map(len, rows)}) > 1:
        return None
    numbers = rows[1:] or rows
    return " " if all(_NUMBER.fullmatch(one) for row in numbers for one in row) else None


def _is_number(cell: bytes, named: Marks | None) -> bool:
    """Tell whether a cell is a number, perhaps with the mark between thousands that is named."""
    if _NUMBER.fullmatch(cell):
        return True
    return named is not None and (
        named.is_number(cell)
        or (named.thousands != "," and replace(named, decimal=",").is_number(cell))
    )


def _cells(lines: list[bytes], separator: bytes) -> list[bytes]:
    """Return the cells of lines that a separator cuts into as many each, more than one; else none.

    Cells in quotes have nothing beside these.
    """
    lines = _without_ends(lines, separator)
    if separator not in lines[0] or len({line.count(separator) for line in lines}) > 1:
        return []
    cells = [cell for line in lines for cell in line.split(separator)]
    return [] if any(cell.strip(b'"') and b'"' in cell for cell in cells) else cells


def _without_ends(lines: list[bytes], separator: bytes) -> list[bytes]:
    """Return lines without the separators that all but the first end in, one more than it has."""
    wanted = lines[0].count(separator) + 1
    is_ended = wanted > 1 and all(
        line.endswith(separator) and line.count(separator) == wanted for line in lines[1:]
    )
    return [lines[0], *(line[:-1] for line in lines[1:])] if is_ended else lines
