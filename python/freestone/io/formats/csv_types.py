"""What the texts of a CSV file become where its user says so: by `missing`, `types`, `dates`.

The native module reads numbers, booleans and texts. What it does not know, texts that stand for
missing values and dates, is made here of columns that it read as text; numbers among them are read
by it, too, so that a column is read alike with these options and without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from freestone import _native
from freestone.errors import FormatError, UsageError, did_you_mean
from freestone.io.formats.csv_guess import EMPTY
from freestone.io.formats.csv_marks import PLAIN, Marks
from freestone.io.formats.csv_rows import arrow_array, arrow_type
from freestone.io.formats.csv_writing import table_columns
from freestone.io.formats.meta import CODES
from freestone.io.formats.tables import needs, some_of

__all__ = ["Cast", "Sight", "Wanted", "date_type_of", "times_in", "wanted_of"]

COMMA = ord(",")
# Directives of strptime that are about the time of a day.
_TIME = re.compile(r"%[HIMSfpTXcR]")
_DAY = r"^\d{4}-\d{2}-\d{2}$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}(:\d{2}){1,2}(\.\d{1,9})?$"
_ZONED = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}(:\d{2}){1,2}(\.\d{1,9})?(Z|[+-]\d{2}(:?\d{2})?)$"
_FINE = r"\.\d{7,9}"
DAY, MOMENT, ZONED, FINE, FAR, OTHER = (1 << bit for bit in range(6))


@dataclass(frozen=True)
class Wanted:
    """What a user says of a file's cells.

    Attributes
    ----------
    missing : tuple of str
        Texts that stand for missing values.
    types : dict of str to (str or None, pyarrow.DataType or None)
        Types of columns: the native module's code of one, or one that Arrow makes of text.
    dates : dict of str to (str or None), or bool
        Columns of dates and times, each with the form of its text, None for ISO 8601; True for all
        columns that have nothing else.
    marks : Marks
        What stands in numbers for the decimal point, and between thousands.
    """

    missing: tuple[str, ...]
    types: dict[str, tuple[str | None, Any]]
    dates: dict[str, str | None] | bool
    marks: Marks = PLAIN

    def __bool__(self) -> bool:
        """Tell whether anything is said."""
        return bool(self.missing or self.types or self.dates or self.marks)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are named."""
        return (*self.types, *(self.dates if isinstance(self.dates, dict) else ()))

    @property
    def needs_sight(self) -> bool:
        """Whether all texts have to be looked at, to know of what types columns are."""
        return bool(self.missing or self.dates or self.marks)

    def check(self, url: str, columns: Sequence[str]) -> None:
        """Raise `UsageError` for a name that is no column's."""
        for name in self.names:
            if name not in columns:
                hint = did_you_mean(name, columns)
                raise UsageError(
                    f"{url} has no column {name!r}, of which types= or dates= speaks{hint}; it has "
                    f"{some_of(columns)}"
                )

    def gives_type(self, name: str) -> bool:
        """Tell whether a column has its type whatever its texts are."""
        return name in self.types or self.form_of(name) is not None

    def leaves_open(self, name: str, code: str, *, has_codes: bool) -> bool:
        """Tell whether a column without values may be of any type; a `.meta` has codes of most."""
        is_date = self.dates if isinstance(self.dates, bool) else name in self.dates
        return not self.gives_type(name) and (not has_codes or (code == "str" and is_date))

    def form_of(self, name: str) -> str | None:
        """Return the form that is given for a column of dates."""
        return self.dates.get(name) if isinstance(self.dates, dict) else None


def wanted_of(missing: Any, types: Any, dates: Any, marks: Marks | None = None) -> Wanted:
    """Check the options `missing`, `types` and `dates`.

    Raises
    ------
    UsageError
        When one is not of its form, or a column is in both of the last.
    """
    texts = () if missing is None else (missing,) if isinstance(missing, str | int) else missing
    if isinstance(texts, Mapping) or not all(isinstance(one, str | int) for one in texts):
        raise UsageError(f"missing={missing!r}: it is a text or a list of texts, such as ['NA']")
    if types is not None and not isinstance(types, Mapping):
        raise UsageError(f"types={types!r}: it gives columns types, as in {{'id': 'str'}}")
    kinds = {str(name): _type(name, kind) for name, kind in (types or {}).items()}
    days = _dates(dates)
    both = [name for name in kinds if isinstance(days, dict) and name in days]
    if both:
        raise UsageError(f"types= and dates= both speak of column {both[0]!r}; leave out one")
    return Wanted(tuple(str(one) for one in texts), kinds, days, marks or PLAIN)


def _dates(dates: Any) -> dict[str, str | None] | bool:
    if dates is None or isinstance(dates, bool):
        return bool(dates)
    if isinstance(dates, str):
        return {dates: None}
    listed = dates if isinstance(dates, Iterable) else (dates,)
    named = dict(dates) if isinstance(dates, Mapping) else dict.fromkeys(listed)
    fits = all(isinstance(name, str) for name in named)
    if not fits or not all(form is None or isinstance(form, str) for form in named.values()):
        raise UsageError(
            f"dates={dates!r}: it is True, names of columns, or their forms, as in "
            "{'day': '%d.%m.%Y'}"
        )
    return named


def _type(name: str, kind: Any) -> tuple[str | None, Any]:
    """Return the native module's code of a type, or Arrow's type."""
    pa = needs("pyarrow", "arrow", "types=")
    known = kind if isinstance(kind, pa.DataType) else _arrow_type(pa, kind)
    if known is not None and (pa.types.is_string(known) or pa.types.is_large_string(known)):
        return "str", None
    if known is not None:
        code = "b1" if pa.types.is_boolean(known) else None
        if pa.types.is_integer(known) or pa.types.is_floating(known):
            code = np.dtype(known.to_pandas_dtype()).str[1:]
        if code in CODES.values():
            return code, None
        if pa.types.is_date(known) or pa.types.is_timestamp(known) or pa.types.is_decimal(known):
            return None, known
    raise UsageError(
        f"types={{{name!r}: {kind!r}}}: a column of text becomes 'str', 'bool', integers, floats "
        "of 4 or 8 bytes, 'date32', 'timestamp[us]', or a date, timestamp or decimal of pyarrow"
    )


def _arrow_type(pa: Any, kind: Any) -> Any:
    try:
        if isinstance(kind, str):
            return pa.type_for_alias(kind)
    except ValueError:
        pass
    try:
        found = np.dtype(kind)
        if found.str[1:] == "M8[D]":
            return pa.date32()
        return pa.string() if found.kind in "OU" else pa.from_numpy_dtype(found)
    except (TypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None


class Sight:
    """What the texts of a column are, part by part; `kinds` are those of `csv_guess`."""

    def __init__(self) -> None:
        self.kinds = 0
        self.has_missing = False
        self.has_marks = False
        self.times = 0

    def __or__(self, other: Sight) -> Sight:
        """Return what both have seen."""
        both = Sight()
        both.kinds = self.kinds | other.kinds
        both.has_missing = self.has_missing or other.has_missing
        both.has_marks = self.has_marks or other.has_marks
        both.times = self.times | other.times
        return both

    def see(self, texts: Any, wanted: Wanted) -> None:
        """Look at some texts."""
        left = _without(texts, wanted.missing)
        self.has_missing |= left.null_count > texts.null_count
        text = _column_text(wanted.marks.plain(left))
        self.kinds |= _native.io.csv_infer(
            *text, columns=1, delimiter=COMMA, start=0, stop=len(left), threads=1
        )[0]
        if left.null_count:
            self.kinds |= EMPTY
        self.has_marks |= wanted.marks.are_in(left)
        if wanted.dates:
            self.times |= times_in(left)

    def date_type(self, *, strict: bool) -> Any:
        """Return the type of the dates and times that were seen, or None.

        If `strict`, None, too, where anything else was seen.
        """
        pa = needs("pyarrow", "arrow", "dates=")
        unit = "ns" if self.times & FINE else "us"
        forms = self.times & ~(FINE | FAR if strict else FINE | FAR | OTHER)
        if forms == DAY:
            return pa.date32()
        if strict and self.times & FINE and self.times & FAR:
            return None
        if forms == ZONED:
            return pa.timestamp(unit, "UTC")
        return pa.timestamp(unit) if forms and not forms & ~(DAY | MOMENT) else None


def times_in(texts: Any) -> int:
    """Return the forms that dates and times have among texts."""
    pa, pc = needs("pyarrow", "arrow", "dates="), needs("pyarrow.compute", "arrow", "dates=")
    texts = texts.drop_null().unique()
    found, left = 0, len(texts)
    for sign, form in ((DAY, _DAY), (MOMENT, _MOMENT), (ZONED, _ZONED)):
        of_form = texts.filter(pc.match_substring_regex(texts, form))
        left -= len(of_form)
        if not len(of_form):
            continue
        is_fine = sign != DAY and pc.any(pc.match_substring_regex(of_form, _FINE)).as_py()
        kind = pa.timestamp("ns" if is_fine else "us", "UTC" if sign == ZONED else None)
        try:
            found |= sign | (FINE if is_fine else 0)
            times = of_form.cast(pa.date32() if sign == DAY else kind)
            found |= 0 if is_fine or _has_nanoseconds(times) else FAR
        except pa.ArrowInvalid:
            # No day of the calendar, or none that so fine a unit reaches.
            found |= OTHER
    return found | (OTHER if left else 0)


def _has_nanoseconds(times: Any) -> bool:
    """Tell whether timestamps of nanoseconds, which have 1677 to 2262 only, reach all times."""
    pa, pc = needs("pyarrow", "arrow", "dates="), needs("pyarrow.compute", "arrow", "dates=")
    ends = pc.min_max(times)
    try:
        pa.array([ends["min"].as_py(), ends["max"].as_py()], times.type).cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return False
    return True


@dataclass(frozen=True)
class Cast:
    """How the texts of a column become values.

    Attributes
    ----------
    missing : tuple of str
        Texts that stand for missing values.
    code : str or None
        The native module's code of what the others are.
    type : pyarrow.DataType or None
        Else the type that Arrow makes of them.
    form : str or None
        The form of dates, as that of `datetime.strptime`; None for ISO 8601.
    marks : Marks
        What stands in numbers for the decimal point, and between thousands.
    advice : str
        What an error says to do.
    """

    missing: tuple[str, ...]
    code: str | None = None
    type: Any = None
    form: str | None = None
    marks: Marks = PLAIN
    advice: str = "change types= or dates=, or add it to missing="

    def apply(self, texts: Any, url: str, row: int, column: int) -> Any:
        """Return the values of some texts, the first of which is in `row` and `column`, from 0.

        Raises
        ------
        FormatError
            For a text that is no such value, with its place.
        """
        texts = _without(texts, self.missing)
        if self.code == "str":
            return texts
        read = self.marks.plain(texts)
        try:
            return self._values(read)
        except _WrongTextError as error:
            at = read.index(error.args[0]).as_py() if error.args else error.row
            place = {"row": row + at + 1, "column": column + 1}
            what = f'row {place["row"]}, column {place["column"]}: "{texts[at]}" is not '
            reason = f"{what}{self._noun()}; {self.advice}"
            raise FormatError(url, reason, **place) from None

    def _values(self, texts: Any) -> Any:
        if self.code is not None:
            return _numbers(texts, self.code)
        if self.form is not None:
            return _each_unique(texts, self.type, self._moment)
        pa = needs("pyarrow", "arrow", "CSV")
        try:
            return texts.cast(self.type)
        except pa.ArrowInvalid:
            each = texts.drop_null().unique().to_pylist()
            raise _WrongTextError(next(text for text in each if not self._fits(text))) from None

    def _fits(self, text: str) -> bool:
        pa = needs("pyarrow", "arrow", "CSV")
        try:
            pa.array([text], pa.large_string()).cast(self.type)
        except pa.ArrowInvalid:
            return False
        return True

    def _moment(self, text: str) -> Any:
        pa = needs("pyarrow", "arrow", "CSV")
        try:
            found = datetime.strptime(text, str(self.form))
            if pa.types.is_date(self.type):
                return found.date()
            return found if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError):
            raise _WrongTextError(text) from None

    def _noun(self) -> str:
        shown = str(self.type) if self.code is None else np.dtype(self.code).name
        return shown if self.form is None else f"{shown} of the form {self.form!r}"


class _WrongTextError(ValueError):
    """A text is no value of its column's type; `row` is its number where its text is not given."""

    row = 0


def date_type_of(form: str) -> Any:
    """Return the type of dates that are written in a form."""
    pa = needs("pyarrow", "arrow", "dates=")
    if "%z" in form:
        return pa.timestamp("us", "UTC")
    return pa.timestamp("us") if _TIME.search(form) else pa.date32()


def _without(texts: Any, missing: tuple[str, ...]) -> Any:
    """Return texts, null where they stand for missing values; blanks around them don't count."""
    if not missing:
        return texts
    pa, pc = needs("pyarrow", "arrow", "missing="), needs("pyarrow.compute", "arrow", "missing=")
    is_missing = pc.is_in(pc.ascii_trim_whitespace(texts), pa.array(missing, pa.large_string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.large_string()), texts)


def _column_text(texts: Any) -> tuple[Any, Any]:
    """Return a column as CSV text, and its index."""
    pa = needs("pyarrow", "arrow", "CSV")
    columns = table_columns(pa.table({"": texts}))
    made: Any = _native.io.csv_format_columns(columns, len(texts), delimiter=COMMA)
    text = np.frombuffer(made, np.uint8)
    return text, _native.io.CsvIndex.scan(text, COMMA, 1)


def _numbers(texts: Any, code: str) -> Any:
    """Return numbers or booleans, as the native module reads them."""
    pa = needs("pyarrow", "arrow", "CSV")
    kind = arrow_type(code)
    try:
        parts = _native.io.csv_read_columns(
            *_column_text(texts),
            codes=[code],
            delimiter=COMMA,
            start=0,
            stop=len(texts),
            threads=1,
        )
    except FormatError as error:
        wrong = _WrongTextError()
        wrong.row = (error.row or 1) - 1
        raise wrong from None
    arrays = [arrow_array(kind, rows, *columns[0]) for rows, columns in parts]
    return pa.concat_arrays(arrays) if arrays else pa.array([], kind)


def _each_unique(texts: Any, kind: Any, function: Callable[[str], Any]) -> Any:
    """Return what a function makes of texts, called with each different one once."""
    pa = needs("pyarrow", "arrow", "CSV")
    encoded = texts.dictionary_encode()
    values = [function(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(values, kind).take(encoded.indices)
