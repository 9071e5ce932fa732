"""Functions of one name: which may stand beside each other, and which fits a call."""

from __future__ import annotations

from collections.abc import Iterable

from freestone.lang.front.parse import tree
from freestone.lang.front.types.types import CELLS, Type

__all__ = ["clash", "misfit", "signature"]

UNTYPED = len(CELLS)
"""The misfit of a parameter of any type: it is larger than that of a half typed one."""
WIDER, NARROWER = 2 * UNTYPED, 4 * UNTYPED
"""The least misfits of parameters to which an argument is cast."""


def clash(node: tree.Define, others: Iterable[tree.Define]) -> str | None:
    """Say why a function can't stand beside others of its name; None if it can."""
    for other in others:
        if _types(node) == _types(other):
            return f"the function {node.name!r} is defined twice"
        names = [[each.name for each in way.parameters] for way in (other, node)]
        if len(names[0]) == len(names[1]) and names[0] != names[1]:
            return (
                f"overloads of {node.name} need the same names of parameters: "
                f"{', '.join(names[0])} and {', '.join(names[1])}"
            )
    return None


def _types(node: tree.Define) -> list[tuple[str, str | None] | None]:
    words = [parameter.type for parameter in node.parameters]
    return [None if word is None else (word.data_type, word.value_type) for word in words]


def misfit(type: Type, word: tree.TypeWord | None) -> int | None:
    """Measure how far an argument is from what a parameter declares; None if it can't be given.

    No distance at all is best, then no declared type, then the next wider type.
    """
    if word is None:
        return UNTYPED
    if type.data != word.data_type:
        return None
    if word.value_type is None:
        return UNTYPED - 1
    if type.cell == word.value_type:
        return 0
    if "str" in (type.cell, word.value_type):
        return None
    steps = CELLS.index(word.value_type) - CELLS.index(type.cell)
    return WIDER + steps if steps > 0 else NARROWER - steps


def signature(node: tree.Define) -> str:
    """Write how a function is called: ``f(x: matrix<f64>, y)``."""
    return f"{node.name}({', '.join(map(_parameter, node.parameters))})"


def _parameter(parameter: tree.Parameter) -> str:
    word = parameter.type
    if word is None:
        return parameter.name
    data = word.value_type if word.data_type == "scalar" else word.data_type
    inner = f"<{word.value_type}>" if word.value_type and word.data_type != "scalar" else ""
    return f"{parameter.name}: {data}{inner}"
