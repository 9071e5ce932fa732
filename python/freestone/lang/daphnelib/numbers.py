"""Python's integers beside lazy values: they have any size, and elements have at most 64 bits."""

from __future__ import annotations

from freestone.lang.front.builtins.elementwise import COMPARISONS
from freestone.lang.front.types.scalars import MAX_SI64, MIN_SI64
from freestone.lang.front.types.types import is_float

__all__ = ["MAX_UI64", "beside_cells", "cell_of_integer"]

MAX_UI64 = 2**64 - 1
ABOVE = {"lt": "le", "le": "le", "neq": "le", "gt": "gt", "ge": "gt", "eq": "gt"}
"""Comparisons with what is larger than all elements, as comparisons with the largest one."""
BELOW = {"gt": "ge", "ge": "ge", "neq": "ge", "lt": "lt", "le": "lt", "eq": "lt"}
"""Comparisons with what is smaller than all elements, as comparisons with the smallest one."""


def cell_of_integer(number: int) -> str:
    """Return the type of an integer that stands alone.

    Raises
    ------
    OverflowError
        If it has more than 64 bits.
    """
    if MIN_SI64 <= number <= MAX_SI64:
        return "si64"
    if 0 <= number <= MAX_UI64:
        return "ui64"
    raise OverflowError(
        f"{_shown(number)} does not fit into an integer of 64 bits; write a float, as float(n)"
    )


def beside_cells(name: str, number: int, cell: str) -> tuple[str, int | float, str]:
    """Return an operation, the number on its right, and its type, that mean what Python's do.

    Parameters
    ----------
    name : str
        The operation.
    number : int
        An integer on its right.
    cell : str
        The type of the elements on its left.

    Raises
    ------
    ValueError
        If it is a negative power of integers, which the language truncates.
    OverflowError
        If the result would be computed in a type that the number does not fit into. Comparisons,
        and what only asks whether a number is 0, have an answer for any number.
    """
    if cell == "str":
        return name, number, cell_of_integer(number)
    if is_float(cell):
        fits = MIN_SI64 <= number <= MAX_SI64
        return (name, number, "si64") if fits else (name, float(number), cell)
    if name == "pow" and number < 0:
        raise ValueError(
            f"integers to the power {number} are truncated to integers; convert the elements, as "
            'x.asType("f64")'
        )
    if name in ("and", "or"):
        return name, int(number != 0), "si64"
    is_ui64 = cell == "ui64"
    least, most = (0, MAX_UI64) if is_ui64 else (MIN_SI64, MAX_SI64)
    if least <= number <= most:
        return name, number, "si64" if number <= MAX_SI64 else "ui64"
    if name not in COMPARISONS:
        common = "ui64" if is_ui64 else "si64"
        raise OverflowError(
            f"{name} of {cell} elements and {_shown(number)}: it does not fit into {common}, which "
            f'holds {least} to {most}; convert the elements, as x.asType("f64"), or write a float'
        )
    if number > most:
        return ABOVE[name], most, "ui64" if is_ui64 else "si64"
    return BELOW[name], least, "si64"


def _shown(number: int) -> str:
    # Python refuses to write out thousands of digits.
    bits = number.bit_length()
    return str(number) if bits < 256 else f"an integer of {bits} bits"
