"""Built-in functions that are made of others, as those of other packages are."""

from __future__ import annotations

from freestone.lang.front.builtins import algebra, elementwise
from freestone.lang.front.builtins.table import Builtin, Lower, lower, parameters_of
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value

__all__ = ["call", "make_builtin"]

OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "^": "pow",
    "%": "mod",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}


def make_builtin(name: str, parameters: str, make: Lower) -> Builtin:
    """Return a built-in function of another package.

    Parameters
    ----------
    name
        Its name in scripts: that of the entry point in ``freestone.builtins``.
    parameters
        Separated by blanks; ``?`` follows one that may be left out, ``*`` one that may be
        repeated.
    make
        ``make(emitter, *arguments)`` checks the arguments and returns the result, which it makes
        by `call` of other functions.
    """
    return Builtin(name, *parameters_of(parameters), make)


def call(emitter: Emitter, name: str, *arguments: Value | float) -> Value:
    """Append a call of a built-in function, or an operator such as ``+`` or ``@``.

    Parameters
    ----------
    emitter
        What the function that is being made was given.
    name
        The function or operator.
    *arguments
        Its arguments, or numbers.
    """
    values = [_value_of(emitter, argument) for argument in arguments]
    if name == "@":
        return algebra.product(emitter, *values)
    if name in OPERATORS:
        return elementwise.binary(emitter, OPERATORS[name], *values)
    return lower(emitter, name, values, {})[0]


def _value_of(emitter: Emitter, argument: Value | float) -> Value:
    if isinstance(argument, Value):
        return argument
    return emitter.constant(argument, "si64" if isinstance(argument, int) else "f64")
