"""The CF conventions: which values a variable's stored numbers and characters stand for.

The rules, types and rounding are those of xarray's `open_dataset`. It differs where xarray would
lose digits (numbers of 32 bits and more stay float64) or miss what is missing (a `_FillValue` of
another float type, a `missing_value` of `_Unsigned` integers). `valid_range` is left to the reader.
References: NetCDF Climate and Forecast Metadata Conventions 1.11, sections 2.2, 2.5, 4.4 and 8.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.errors import FormatError, UsageError

__all__ = ["FILLS", "TICKS_NS", "Decoding", "decoding_of", "word_of"]

FILLS = ("_FillValue", "missing_value")
PACKING = ("scale_factor", "add_offset")
STANDARD = ("standard", "gregorian")
CALENDARS = (*STANDARD, "proleptic_gregorian")
DAY_NS = 86_400_000_000_000
TICKS_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""What decoded times count, coarse to fine."""
UNITS_NS = {
    "weeks": 7 * DAY_NS,
    "days": DAY_NS,
    "hours": 3_600_000_000_000,
    "minutes": 60_000_000_000,
    "seconds": 1_000_000_000,
    "milliseconds": 1_000_000,
    "microseconds": 1_000,
    "nanoseconds": 1,
}
SHORT = {
    "d": "days",
    "h": "hours",
    "hr": "hours",
    "min": "minutes",
    "s": "seconds",
    "sec": "seconds",
    "ms": "milliseconds",
    "msec": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}
REFERENCE = re.compile(
    r"(?P<year>\d{1,4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[T ]\s*(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    r"(?:\.(?P<fraction>\d*))?)?)?)?"
    r"\s*(?:Z|UTC|GMT|(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?)?"
)
# The Julian day number of 1970-01-01; dates before this day are Julian in the standard calendar.
EPOCH_DAY, GREGORIAN = 2_440_588, (1582, 10, 15)
GREGORIAN_NS = -141_427 * DAY_NS
NAT = np.iinfo(np.int64).min
MAX_TICKS = np.iinfo(np.int64).max
_MOST_CHARACTERS = (2**31 - 1) // 4
"""Four bytes each: NumPy counts those of a text by 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How blocks of a variable's stored values become those that are meant.

    Attributes
    ----------
    url, variable : str
        What errors name.
    dtype : str
        That of the decoded values.
    characters : int
        How many of the last axis make a text; 0 if it is an axis as any other.
    encoding : str
        That of texts which are stored as bytes.
    integers : str
        The dtype of stored integers with the sign that they have; empty for other values.
    fills : tuple of float or int
        Values that stand for missing ones.
    scale, offset : number or None
        What values are multiplied by, and what is added then.
    units : str
        Those of times, as the file says them.
    unit, reference : int
        How many ticks one unit of time has, and the reference date since 1970; a unit of 0 is of
        values that are no times.
    ticks : int
        So many of these are one of what `dtype` counts; more than 1 where the unit or the reference
        date are no whole numbers of it.
    is_mixed : bool
        Whether dates before 1582-10-15 are Julian, which datetime64 does not have.
    coarsest : str
        The coarsest of `TICKS_NS` in which unit and reference are whole numbers.
    """

    url: str
    variable: str
    dtype: str
    characters: int = 0
    encoding: str = ""
    integers: str = ""
    fills: tuple[Any, ...] = ()
    scale: Any = None
    offset: Any = None
    units: str = ""
    unit: int = 0
    reference: int = 0
    ticks: int = 1
    is_mixed: bool = False
    coarsest: str = "ns"

    def decode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what stored values stand for."""
        dtype = np.dtype(self.dtype)
        if values.dtype.kind not in "iuf":
            return self._text(values, dtype)
        if self.integers:
            values = values.view(self.integers)
        if self.unit:
            return self._times(values, dtype)
        return self._numbers(values, dtype)

    def _text(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        if self.characters:
            shape = values.shape[:-1]
            values = np.ascontiguousarray(values).view(f"S{self.characters}").reshape(shape)
        if self.encoding:
            try:
                return np.char.decode(values, self.encoding).astype(dtype)
            except (UnicodeDecodeError, LookupError) as error:
                raise FormatError(self.url, f"the texts of {self.variable!r}: {error}") from None
        return values.astype(dtype, copy=False)

    def _numbers(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        missing = self._missing(values)
        out = values.astype(dtype, copy=missing is not None or self._is_packed)
        if self.scale is not None:
            out *= self.scale
        if self.offset is not None:
            out += self.offset
        if missing is not None:
            out[missing] = np.nan
        return out

    @property
    def _is_packed(self) -> bool:
        return self.scale is not None or self.offset is not None

    def _missing(self, values: NDArray[Any]) -> NDArray[Any] | None:
        return np.isin(values, np.array(self.fills, values.dtype)) if self.fills else None

    def _times(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        missing = self._missing(values)
        if self._is_packed:
            values = self._numbers(values, _float_dtype(values.dtype, self.scale, self.offset))
        nothing = np.isnan(values) if values.dtype.kind == "f" else values == NAT
        missing = nothing if missing is None else missing | nothing
        wide = np.where(missing, 0, values).astype("f8" if values.dtype.kind == "f" else "i8")
        shift, rest = self._reference_in_units(wide.dtype)
        present = wide[~missing]
        if present.size:
            self._check_range(shift, rest, present.min(), present.max())
        # Floats are multiplied and cut as xarray does it: a time is the same here and there.
        out = (wide + shift) * np.int64(self.unit)
        if out.dtype.kind == "f" and not self.dtype.endswith("[ns]"):
            # A cut would be of up to a second: 1 / 3 of a day has no exact float.
            np.rint(out, out=out)
        out = out.astype("i8") + rest
        if self.ticks > 1:
            out = self._coarser(out, wide, missing)
        out[missing] = NAT
        return out.view(dtype)

    def _coarser(
        self, times: NDArray[Any], stored: NDArray[Any], missing: NDArray[Any]
    ) -> NDArray[Any]:
        """Return times in what `dtype` counts; none of them may lose digits."""
        found, lost = np.divmod(times, np.int64(self.ticks))
        lost[missing] = 0
        if lost.any():
            one = stored.flat[int(np.flatnonzero(lost)[0])]
            unit = np.datetime_data(np.dtype(self.dtype))[0]
            raise UsageError(
                f"{self.url}: {self.variable!r} has {one} {self.units!r}, of which "
                f"time_unit={unit!r} would lose digits; time_unit={self.coarsest!r} keeps them"
            )
        return found

    @property
    def _tick(self) -> str:
        """What `unit` and `reference` count."""
        if self.ticks > 1:
            return self.coarsest
        return np.datetime_data(np.dtype(self.dtype))[0]

    def _reference_in_units(self, dtype: np.dtype[Any]) -> tuple[int, int]:
        """Return the reference as units and the rest, neither of more than 64 bits."""
        if dtype.kind == "f" and abs(self.reference) <= MAX_TICKS:
            return 0, self.reference
        return divmod(self.reference, self.unit)

    def _check_range(self, shift: int, rest: int, *ends: Any) -> None:
        """Raise `FormatError` for times that 64 bits or the calendar do not have."""
        tick_ns = TICKS_NS[self._tick]
        for one in ends:
            # Floats are multiplied as floats, integers as Python's, which have any size.
            since = (one.item() + shift) * self.unit
            if self._has(since, rest, tick_ns, self._tick):
                continue
            advice = "decode_cf=False reads the numbers"
            if self._has(since, rest, tick_ns, self.coarsest):
                advice = f"time_unit={self.coarsest!r} has it, and {advice}"
            ends_of = " (1677-09-21 to 2262-04-11)" if self.dtype.endswith("M8[ns]") else ""
            raise FormatError(
                self.url,
                f"{self.variable!r} has {one} {self.units!r}, which is no time of its calendar "
                f"that {np.dtype(self.dtype)} has{ends_of}; {advice}",
            )

    def _has(self, since: Any, rest: int, tick_ns: int, tick: str) -> bool:
        """Tell whether 64 bits of `tick`, and datetime64's calendar, have a time."""
        if self.is_mixed and not (since + rest) * tick_ns >= GREGORIAN_NS:
            return False
        limit = MAX_TICKS * TICKS_NS[tick]
        return bool(abs(since * tick_ns) <= limit and abs((since + rest) * tick_ns) <= limit)


def decoding_of(
    url: str,
    variable: str,
    stored: np.dtype[Any],
    shape: tuple[int, ...],
    attributes: dict[str, Any],
    time_unit: str = "ns",
) -> Decoding:
    """Return how the values of a variable are decoded.

    Parameters
    ----------
    url, variable
        What errors name.
    stored, shape
        Those of the variable in the file.
    attributes
        Those of the variable; for the bounds of times, with the units of the times.
    time_unit
        What decoded times and durations count, one of `TICKS_NS`.

    Raises
    ------
    UsageError
        When its times have a calendar or a unit that datetime64 does not have.
    FormatError
        When its texts are longer than NumPy's can be.
    """
    common: dict[str, Any] = {"url": url, "variable": variable}
    if stored.kind not in "iuf":
        return _of_text(common, stored, shape, attributes)
    integers = _signed(stored, attributes)
    scale, offset = (_number(attributes.get(name)) for name in PACKING)
    fills = tuple(_fills(stored, integers, attributes))
    common |= {"fills": fills, "scale": scale, "offset": offset}
    if integers != stored:
        common["integers"] = integers.newbyteorder("=").str
    times = _times_of(url, variable, attributes, time_unit)
    if times is not None:
        return Decoding(**common, **times)
    is_packed = scale is not None or offset is not None
    if is_packed or fills:
        dtype = _float_dtype(integers, scale, offset) if is_packed else _with_nan(integers)
    elif stored.kind in "iu" and word_of(attributes.get("dtype")) == "bool":
        # NetCDF has no booleans: xarray writes bytes, and this attribute.
        dtype = np.dtype(bool)
    else:
        dtype = integers
    return Decoding(dtype=dtype.newbyteorder("=").str, **common)


def word_of(attribute: Any) -> str:
    """Return the text of an attribute; of a list of them, the first."""
    found = np.asarray("" if attribute is None else attribute).reshape(-1)
    first = found[0] if found.size else ""
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)


def _of_text(
    common: dict[str, Any],
    stored: np.dtype[Any],
    shape: tuple[int, ...],
    attributes: dict[str, Any],
) -> Decoding:
    characters = shape[-1] if stored == "S1" and len(shape) > 1 else 0
    if characters > _MOST_CHARACTERS:
        raise FormatError(
            common["url"],
            f"the texts of {common['variable']!r} have {characters} characters each, of which "
            f"NumPy's have {_MOST_CHARACTERS} at most; the lengths of its dimensions are wrong, or "
            "read it by h5netcdf or scipy",
        )
    dtype = np.dtype(f"S{characters}") if characters else stored
    encoding = word_of(attributes.get("_Encoding")) if stored.kind == "S" else ""
    if encoding:
        # No text has more characters than bytes.
        dtype = np.dtype(f"U{dtype.itemsize}")
    return Decoding(dtype=dtype.str, characters=characters, encoding=encoding, **common)


def _signed(stored: np.dtype[Any], attributes: dict[str, Any]) -> np.dtype[Any]:
    """Return the dtype of integers whose attributes say another sign than they are stored with.

    NetCDF 3 has no unsigned ones but bytes, and the NetCDF user guide has `_Unsigned` for them.
    """
    word = word_of(attributes.get("_Unsigned")).lower()
    kind = {("i", "true"): "u", ("u", "false"): "i"}.get((stored.kind, word), stored.kind)
    return np.dtype(f"{stored.byteorder}{kind}{stored.itemsize}")


def _number(attribute: Any) -> Any:
    """Return a number of an attribute, of its own type; None if it has none."""
    found = np.asarray(attribute).reshape(-1)
    if attribute is None or found.dtype.kind not in "iuf" or not found.size:
        return None
    return found.astype(found.dtype.newbyteorder("="))[0]


def _fills(stored: np.dtype[Any], integers: np.dtype[Any], attributes: dict[str, Any]) -> list[Any]:
    """Return the values that stand for missing ones, as values of the dtype that is decoded."""
    found: list[Any] = []
    for name in FILLS:
        given = np.asarray(attributes.get(name, ())).reshape(-1)
        if given.dtype.kind in "iuf":
            found += [one for one in map(_plain, given) if one == one]
    if integers.kind == "f":
        with np.errstate(over="ignore"):
            return [one for one in found if np.isfinite(integers.type(one)) or np.isinf(one)]
    whole = [int(one) for one in found if np.isfinite(one) and one == int(one)]
    # A fill value of `_Unsigned` integers is written with either sign.
    ends = [np.iinfo(each) for each in (stored, integers)]
    wrapped = 1 << 8 * integers.itemsize
    kept = [one for one in whole if any(end.min <= one <= end.max for end in ends)]
    own = np.iinfo(integers)
    return [(one - own.min) % wrapped + own.min for one in kept]


def _plain(value: Any) -> Any:
    return value.item()


def _with_nan(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the smallest dtype of floats that holds the values, and NaN."""
    if dtype.kind == "f":
        return dtype
    return np.dtype("f4" if dtype.itemsize <= 2 else "f8")


def _float_dtype(stored: np.dtype[Any], scale: Any, offset: Any) -> np.dtype[Any]:
    """Return the dtype of unpacked values: float32 if stored values and packing fit into it.

    With an offset alone, of whatever type, digits may get lost: that is float64.
    """
    is_small = stored.itemsize <= (4 if stored.kind == "f" else 2)
    fits = is_small and scale is not None and scale.dtype == np.float32
    fits = fits and (offset is None or offset.dtype == np.float32)
    return np.dtype("f4" if fits else "f8")


# -- times ----------------------------------------------------------------------------------------


def _times_of(
    url: str, variable: str, attributes: dict[str, Any], time_unit: str
) -> dict[str, Any] | None:
    """Return the fields of a decoding of times or durations; None of other values."""
    units = word_of(attributes.get("units")).strip()
    where = f"{url}: {variable!r}"
    if units in UNITS_NS and word_of(attributes.get("dtype")).startswith("timedelta64"):
        ticks = _in_ticks(UNITS_NS[units], 0, time_unit)
        return {"dtype": f"<m8[{time_unit}]", "units": units, **ticks}
    unit, since, reference = units.partition(" since ")
    if not since:
        return None
    calendar = (word_of(attributes.get("calendar")) or "standard").lower()
    unit = unit.strip().lower()
    unit = SHORT.get(unit.removesuffix("s"), SHORT.get(unit, unit))
    unit_ns = UNITS_NS.get(unit) or UNITS_NS.get(f"{unit}s")
    start = _reference_ns(reference.strip(), calendar)
    if calendar not in CALENDARS or unit_ns is None or start is None:
        raise UsageError(
            f"{where} has times in {units!r} of the calendar {calendar!r}, which datetime64 does "
            "not have; decode_cf=False reads the numbers"
        )
    return {
        "dtype": f"<M8[{time_unit}]",
        "units": units,
        "is_mixed": calendar in STANDARD,
        **_in_ticks(unit_ns, start, time_unit),
    }


def _in_ticks(unit_ns: int, start: int, time_unit: str) -> dict[str, Any]:
    """Return a unit and a reference date as whole numbers of ticks.

    A tick is what decoded times count, or the coarsest unit of which both are whole numbers, if
    that is finer.
    """
    coarsest = next(name for name, ns in TICKS_NS.items() if not (unit_ns % ns or start % ns))
    tick = min(TICKS_NS[time_unit], TICKS_NS[coarsest])
    ticks = TICKS_NS[time_unit] // tick
    return {
        "unit": unit_ns // tick,
        "reference": start // tick,
        "ticks": ticks,
        "coarsest": coarsest,
    }


def _reference_ns(text: str, calendar: str) -> int | None:
    """Return nanoseconds from 1970 to a reference date in UTC; None if it is no date."""
    found = REFERENCE.fullmatch(text)
    if found is None:
        return None
    part = {
        name: int(word or 0)
        for name, word in found.groupdict().items()
        if name not in ("sign", "fraction")
    }
    day = _day(part["year"], part["month"], part["day"], calendar)
    if day is None:
        return None
    zone = (part["hours"] * 60 + part["minutes"]) * (-1 if found["sign"] == "-" else 1)
    seconds = (part["hour"] * 60 + part["minute"] - zone) * 60 + part["second"]
    fraction = int((found["fraction"] or "0")[:9].ljust(9, "0"))
    return (day - EPOCH_DAY) * DAY_NS + seconds * 1_000_000_000 + fraction


def _day(year: int, month: int, day: int, calendar: str) -> int | None:
    """Return the Julian day number of a date; None if there is none such."""
    if not 1 <= month <= 12:
        return None
    is_julian = calendar in STANDARD and (year, month, day) < GREGORIAN
    found = _first_day(year, month, is_julian) + day - 1
    next_month = _first_day(year + month // 12, month % 12 + 1, is_julian)
    return found if day and found < next_month else None


def _first_day(year: int, month: int, is_julian: bool) -> int:
    """Return the Julian day number of the first day of a month."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    julian = 1 + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    return julian if is_julian else julian - years // 100 + years // 400 + 38
