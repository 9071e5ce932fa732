"""Matrices that a script shares with the Python that runs it."""

from __future__ import annotations

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import NOTHING, matrix

VALUE_TYPES = ("si8", "si32", "si64", "ui8", "ui32", "ui64", "f32", "f64")
"""The cells that stand behind the codes 0, 1, 2 and so on."""


@builtin("receiveFromNumpy", "address rows cols vtc")
def receive_from_numpy(
    emitter: Emitter, address: Value, rows: Value, columns: Value, code: Value
) -> Value:
    """Take an array of NumPy's that is lent at an address, in place."""
    for value, what in ((address, "address"), (code, "vtc")):
        emitter.number(value, what)
    number = emitter.known(code, "vtc")
    if number not in range(len(VALUE_TYPES)):
        known = ", ".join(f"{at} {cell}" for at, cell in enumerate(VALUE_TYPES))
        emitter.fail(f"vtc {number} is no value type; there are {known}")
    type = matrix(
        VALUE_TYPES[int(number)], emitter.size(rows, "rows"), emitter.size(columns, "cols")
    )
    return emitter.emit("receive", [address, rows, columns], type)


@builtin("saveDaphneLibResult", "arg")
def save_daphne_lib_result(emitter: Emitter, arg: Value) -> Value:
    """Hand a value to the Python that runs the script."""
    if arg.type.data == "nothing":
        emitter.fail("there is nothing to save: this call has no result")
    return emitter.emit("save_result", [arg], NOTHING)
