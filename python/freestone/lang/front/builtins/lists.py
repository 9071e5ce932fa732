"""Lists of matrices."""

from __future__ import annotations

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type, matrix, scalar


def _list(emitter: Emitter, arg: Value) -> Type:
    if arg.type.data != "list":
        emitter.fail(f"expected a list, not a {arg.type}; createList(...) makes one")
    return arg.type


@builtin("createList", "m*")
def create_list(emitter: Emitter, *args: Value) -> Value:
    """Make a list of matrices of one type."""
    if not args:
        emitter.fail("createList takes at least one matrix")
    cell = emitter.matrix(args[0], "an element of a list").cell
    for arg in args:
        _check(emitter, cell, arg)
    return emitter.emit("create_list", args, Type("list", cell))


def _check(emitter: Emitter, cell: str, arg: Value) -> None:
    found = emitter.matrix(arg, "an element of a list").cell
    if found != cell:
        emitter.fail(f"this list holds matrices of {cell}, not of {found}")


@builtin("length", "l")
def length(emitter: Emitter, arg: Value) -> Value:
    """Count the elements of a list."""
    _list(emitter, arg)
    return emitter.emit("length", [arg], scalar("index"))


@builtin("getElementInList", "l idx")
def get_element_in_list(emitter: Emitter, arg: Value, index: Value) -> Value:
    """Return an element of a list."""
    cell = _list(emitter, arg).cell
    emitter.number(index, "idx")
    return emitter.emit("element", [arg, index], matrix(cell))


@builtin("replaceElementInList", "l idx m")
def replace_element_in_list(
    emitter: Emitter, arg: Value, index: Value, element: Value
) -> list[Value]:
    """Make a list with another element at a position, and return the one that was there, too."""
    cell = _list(emitter, arg).cell
    emitter.number(index, "idx")
    _check(emitter, cell, element)
    operands = [arg, index, element]
    return emitter.emit_all("replace_element", operands, [arg.type, matrix(cell)])


@builtin("append", "l m")
def append(emitter: Emitter, arg: Value, element: Value) -> Value:
    """Make a list with one more element."""
    _check(emitter, _list(emitter, arg).cell, element)
    return emitter.emit("append", [arg, element], arg.type)


@builtin("remove", "l idx")
def remove(emitter: Emitter, arg: Value, index: Value) -> list[Value]:
    """Make a list without one element, and return that, too."""
    cell = _list(emitter, arg).cell
    emitter.number(index, "idx")
    return emitter.emit_all("remove", [arg, index], [arg.type, matrix(cell)])
