"""Time, functions on cells, preprocessing."""

from __future__ import annotations

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import matrix, scalar


@builtin("now")
def now(emitter: Emitter) -> Value:
    """Tell the nanoseconds since 1970."""
    return emitter.emit("now", [], scalar("si64"))


@builtin("quantize", "arg min max")
def quantize(emitter: Emitter, arg: Value, low: Value, high: Value) -> Value:
    """Map an interval to the numbers from 0 to 255."""
    type = emitter.numbers(arg, "arg")
    for value, what in ((low, "min"), (high, "max")):
        emitter.number(value, what)
    return emitter.emit("quantize", [arg, low, high], type.of("ui8"))


@builtin("oneHot", "arg info")
def one_hot(emitter: Emitter, arg: Value, info: Value) -> Value:
    """Replace columns of positions by columns of zeros and ones."""
    type, about = emitter.matrix(arg, "arg"), emitter.numbers(info, "info")
    emitter.equal(about.rows, 1, "info of oneHot is one row")
    emitter.equal(type.columns, about.columns, "arg and info of oneHot differ in columns")
    return emitter.emit(
        "one_hot", [arg, info], matrix("si64" if type.cell == "str" else type.cell, type.rows)
    )


@builtin("recode", "arg orderPreserving")
def recode(emitter: Emitter, arg: Value, ordered: Value) -> list[Value]:
    """Replace values by codes; the second result tells which code stands for what."""
    type = emitter.matrix(arg, "arg")
    emitter.equal(type.columns, 1, "recode takes one column")
    emitter.number(ordered, "orderPreserving")
    types = [matrix("si64", type.rows, 1), matrix(type.cell, None, 1)]
    return emitter.emit_all("recode", [arg, ordered], types)


@builtin("bin", "arg numBins min? max?")
def bin_(emitter: Emitter, arg: Value, count: Value, *ends: Value) -> Value:
    """Replace values by the numbers of equally wide bins."""
    type = emitter.numbers(arg, "arg")
    if emitter.size(count, "numBins") == 0:
        emitter.fail("bin needs at least one bin")
    if len(ends) == 1:
        emitter.fail("bin takes both min and max, or neither")
    for end in ends:
        emitter.number(end, "min and max")
    return emitter.emit("bin", [arg, count, *ends], type)
