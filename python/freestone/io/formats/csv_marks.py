"""Numbers in the forms of other countries: ``3,14`` and ``1.234.567``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from freestone.errors import UsageError
from freestone.io.formats.tables import needs

__all__ = ["PLAIN", "Marks", "guessed_marks", "marks_of"]

_COMMA = re.compile(rb"\s*[-+]?(\d*|\d{1,3}(\.\d{3})+),\d+([eE][-+]?\d+)?\s*")
_POINTS = re.compile(rb"\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)\s*")
# Such numbers have no decimal point; small ones are written so, as in 1e-05.
_WHOLE = re.compile(rb"\s*[-+]?\d+([eE][-+]?\d+)?\s*")
# A comma in front of three digits may stand between thousands.
_EITHER = re.compile(rb"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")


@dataclass(frozen=True)
class Marks:
    """What stands in numbers for the decimal point, and between thousands."""

    decimal: str = "."
    thousands: str = ""

    def __bool__(self) -> bool:
        """Tell whether they differ from those that the native module reads."""
        return self != Marks()

    @property
    def _form(self) -> str:
        """The form of a number that has one of them."""
        decimal, between = re.escape(self.decimal), re.escape(self.thousands)
        whole = rf"\d+|\d{{1,3}}(?:{between}\d{{3}})+" if between else r"\d+"
        return rf"^\s*[-+]?(?:(?:{whole})(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][-+]?\d+)?\s*$"

    def is_number(self, text: bytes) -> bool:
        """Tell whether a cell is a number with these marks, or without any."""
        return re.fullmatch(self._form, text.decode(errors="replace")) is not None

    def plain(self, texts: Any) -> Any:
        """Return texts, numbers among them with a point and nothing between thousands.

        A text that is a number with a point, and none with these marks, gets another sign in its
        place, so that nobody takes it for a number.
        """
        if not self:
            return texts
        pa, pc = needs("pyarrow", "arrow", "CSV"), needs("pyarrow.compute", "arrow", "CSV")
        plain = pc.replace_substring(texts, self.thousands, "") if self.thousands else texts
        plain = pc.replace_substring(plain, self.decimal, ".")
        others = texts if self.decimal == "." else pc.replace_substring(texts, ".", self.decimal)
        made = pc.if_else(pc.match_substring_regex(texts, self._form), plain, others)
        return made.cast(pa.large_string())

    def are_in(self, texts: Any) -> bool:
        """Tell whether a number among texts has one of them."""
        if not self:
            return False
        pc = needs("pyarrow.compute", "arrow", "CSV")
        marked = pc.match_substring_regex(texts, f"[{re.escape(self.decimal + self.thousands)}]")
        return bool(pc.any(pc.and_(marked, pc.match_substring_regex(texts, self._form))).as_py())


PLAIN = Marks()


def marks_of(decimal: Any, thousands: Any, separator: str | None) -> Marks:
    """Check the options `decimal` and `thousands`.

    Raises
    ------
    UsageError
        When they are no such signs, or the same, or what separates cells.
    """
    if decimal not in (None, ".", ","):
        raise UsageError(f"decimal={decimal!r}: it is '.' or ','")
    if thousands not in (None, "", ".", ",", " ", "'", "_", "\u00a0", "\u202f"):
        raise UsageError(f"thousands={thousands!r}: it is one of '.', ',', ' ', \"'\" and '_'")
    found = Marks(decimal or ".", thousands or "")
    if found.decimal == found.thousands:
        raise UsageError(
            f"decimal={found.decimal!r} and thousands={found.thousands!r} are the same; give the "
            "other one, too"
        )
    if found.decimal == separator:
        raise UsageError(
            f"decimal={decimal!r} and separator={separator!r} are the same; the separator "
            "is the one that is given, or that of the file's .meta"
        )
    return found


def guessed_marks(
    columns: Iterable[Sequence[bytes]], thousands: str = "", *, may_have_names: bool = False
) -> Marks:
    """Return decimal commas if the cells of a column are numbers with such, surely.

    Points in front of them are then between thousands, and so are those of a column of numbers such
    as ``1.234.567``, unless the caller names what is. A first cell that is no number may be a name.
    """
    if may_have_names:
        is_number = Marks(",", thousands or ".").is_number
        columns = (cells[bool(cells) and not is_number(cells[0]) :] for cells in columns)
    kept = [[cell for cell in column if cell.strip()] for column in columns]
    with_commas = [column for column in kept if _are_decimal_commas(column, thousands)]
    if not with_commas or thousands:
        return Marks(",", thousands) if with_commas else PLAIN
    has_points = any(b"." in cell for column in with_commas for cell in column)
    return Marks(",", "." if has_points or any(map(_are_in_thousands, kept)) else "")


def _are_in_thousands(texts: Sequence[bytes]) -> bool:
    """Tell whether cells are numbers with points between thousands; one point may be a decimal."""
    are_numbers = all(_POINTS.fullmatch(text) for text in texts)
    return are_numbers and any(text.count(b".") > 1 for text in texts)


def _are_decimal_commas(texts: Sequence[bytes], thousands: str) -> bool:
    commas = [text for text in texts if b"," in text]
    if thousands:
        are_numbers = all(map(Marks(",", thousands).is_number, texts))
    else:
        are_numbers = all(_COMMA.fullmatch(text) or _WHOLE.fullmatch(text) for text in texts)
    return are_numbers and any(not _EITHER.fullmatch(text) for text in commas)
