"""The arithmetic of scalars, as compiled code does it.

Integers wrap around at their size, division truncates, and invalid operations give the NaN
with a sign that x86 gives. NumPy is not needed: a script without matrices starts at once.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from freestone.lang.front.types.types import is_float

Scalar = int | float | str | bool

BITS = {"si8": 8, "ui8": 8, "si32": 32, "ui32": 32, "index": 64, "si64": 64, "ui64": 64}
MIN_SI64, MAX_SI64 = -(2**63), 2**63 - 1
INVALID = -math.nan
"""What x86 makes of 0/0: it prints as -nan."""

ZERO_OF_ZEROS = frozenset({"add", "sub", "mul", "min", "max", "neq", "lt", "gt", "and", "or"})
"""Operations of two sides that give 0 where both are."""
ZERO_OF_ZERO = frozenset({"minus", "abs", "sign", "sqrt", "round", "floor", "ceil", "sin", "tan"})
ZERO_OF_ZERO |= {"sinh", "tanh", "asin", "atan", "isNan"}
"""Operations of one side that give 0 where it is."""


class DivisionError(ArithmeticError):
    """An integer is divided by zero."""


def wrapped(cell: str, value: Any) -> Any:
    """Convert a number to a cell type, as C++ does.

    Floats are truncated, to the nearest ``si64`` if they are none, and NaN becomes 0; integers wrap
    around, and anything but 0 is true.
    """
    if cell == "f64":
        return float(value)
    if cell == "f32":
        return _single(float(value))
    if cell == "bool":
        return bool(value)
    if cell == "str":
        return text_of(value)
    bits = BITS[cell]
    whole = _truncated(value) & ((1 << bits) - 1)
    return whole - (1 << bits) if cell[0] == "s" and whole >> (bits - 1) else whole


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _truncated(value: Any) -> int:
    if not isinstance(value, float) or abs(value) <= MAX_SI64:
        return int(value)
    if math.isnan(value):
        return 0
    return MAX_SI64 if value > 0 else MIN_SI64


def text_of(value: Any) -> str:
    """Convert a scalar to a string: floats get 6 decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return _named(value) or f"{value:.6f}"
    return str(value)


def _named(value: float) -> str:
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return ""


def printed(value: Any) -> str:
    """Write a scalar as ``print`` does: 6 significant digits."""
    if isinstance(value, float):
        return _named(value) or f"{value:g}"
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def number_of(text: str, cell: str) -> Scalar:
    """Read a number from a string.

    Raises
    ------
    ValueError
        If it is none.
    """
    if cell == "str":
        return text
    number: Scalar = float(text) if is_float(cell) or not _whole(text) else int(text)
    value: Scalar = wrapped(cell, number)
    return value


def _whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit()


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right != 0 and not math.isnan(right):
            return _caught(lambda: left / right)
        if math.isnan(left) or math.isnan(right):
            return left + right
        if left == 0:
            return INVALID
        return math.copysign(math.inf, left) * math.copysign(1, right)
    if right == 0:
        raise DivisionError
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right == 0 or math.isinf(left):
            return left + right if math.isnan(left) or math.isnan(right) else INVALID
        return math.fmod(left, right)
    if right == 0:
        raise DivisionError
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, float) or right < 0:
        value = _float_power(float(left), float(right))
        return value if isinstance(left, float) else _truncated(value)
    # Only the lowest 64 bits are kept, so the number never grows.
    return pow(left, right, 1 << 64) if right > 64 or abs(left) > 2**31 else left**right


def _float_power(left: float, right: float) -> float:
    try:
        return math.pow(left, right)
    except ValueError:
        return math.inf if left == 0 else INVALID
    except OverflowError:
        return -math.inf if left < 0 and right % 2 == 1 else math.inf


def _logarithm(left: Any, right: Any) -> Any:
    return _divide(_natural(float(left)), _natural(float(right)))


def _natural(value: float) -> float:
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else value if math.isnan(value) else INVALID


def _caught(compute: Callable[[], float]) -> float:
    try:
        return compute()
    except ValueError:
        return INVALID
    except OverflowError:
        return math.inf


def like(text: str, pattern: str) -> bool:
    """Tell whether a text is as a pattern of SQL's: ``%`` is any text, ``_`` any character.

    Examples
    --------
    >>> like("Hello", "%el%"), like("Hello", "_el"), like("50%", "50%")
    (True, False, True)
    """
    return _matcher(pattern)(text) is not None


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    parts = (_WILD.get(character) or re.escape(character) for character in pattern)
    return re.compile("".join(parts), re.DOTALL).fullmatch


_WILD = {"%": ".*", "_": "."}

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": _divide,
    "mod": _modulo,
    "pow": _power,
    "log": _logarithm,
    "min": lambda left, right: right if right < left else left,
    "max": lambda left, right: right if right > left else left,
    "eq": lambda left, right: left == right,
    "neq": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "and": lambda left, right: bool(left) and bool(right),
    "or": lambda left, right: bool(left) or bool(right),
    "concat": lambda left, right: left + right,
    "like": like,
}


_BELOW_HALF = math.nextafter(0.5, 0.0)
"""What is added to round: 0.5 takes the number before it to 1, and odd ones from 2^52 on up."""


def _round(value: Any) -> Any:
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return math.copysign(math.floor(abs(value) + _BELOW_HALF), value)


def _whole_float(compute: Callable[[float], int]) -> Callable[[Any], Any]:
    def whole(value: Any) -> Any:
        keep = not isinstance(value, float) or not math.isfinite(value)
        return value if keep else math.copysign(float(compute(value)), value)

    return whole


def _sign(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isnan(value) or value == 0 else math.copysign(1.0, value)
    return (value > 0) - (value < 0)


def _real(compute: Callable[[float], float]) -> Callable[[Any], float]:
    return lambda value: (
        float(value) if math.isnan(float(value)) else _caught(lambda: compute(float(value)))
    )


def _odd_overflow(compute: Callable[[float], float]) -> Callable[[Any], float]:
    def signed(value: Any) -> float:
        try:
            return compute(float(value))
        except OverflowError:
            return math.copysign(math.inf, float(value))

    return signed


UNARY: dict[str, Callable[[Any], Any]] = {
    "minus": lambda value: -value,
    "abs": abs,
    "sign": _sign,
    "exp": _real(math.exp),
    "ln": lambda value: _natural(float(value)),
    "sqrt": _real(math.sqrt),
    "round": _round,
    "floor": _whole_float(math.floor),
    "ceil": _whole_float(math.ceil),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "sinh": _odd_overflow(math.sinh),
    "cosh": _real(math.cosh),
    "tanh": _real(math.tanh),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "isNan": lambda value: isinstance(value, float) and math.isnan(value),
    "lower": lambda value: value.lower(),
    "upper": lambda value: value.upper(),
}


def binary(name: str, cell: str, left: Scalar, right: Scalar, result: str) -> Scalar:
    """Compute a binary operation on scalars.

    Parameters
    ----------
    name : str
        A key of ``BINARY``.
    cell : str
        What both are converted to first.
    result : str
        The type of the result.

    Raises
    ------
    DivisionError
        If integers are divided by zero.
    """
    value: Scalar = wrapped(result, BINARY[name](wrapped(cell, left), wrapped(cell, right)))
    return value


def unary(name: str, value: Scalar, result: str) -> Scalar:
    """Compute a unary operation on a scalar."""
    computed: Scalar = wrapped(result, UNARY[name](value))
    return computed
