"""What a value is: its type, its shape, its zeros."""

from __future__ import annotations

from freestone.lang.front.builtins.table import BUILTINS, Builtin, builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type, scalar


def _register(name: str) -> None:
    def lower(emitter: Emitter, arg: Value) -> Value:
        if arg.type.data not in ("matrix", "frame"):
            emitter.fail(f"{name} takes a matrix or a frame, not a {arg.type}")
        return counted(emitter, name, arg)

    BUILTINS[name] = Builtin(name, ("arg",), (), "", lower)


def counted(emitter: Emitter, name: str, arg: Value) -> Value:
    """Count rows, columns or cells: at once where the shape is known."""
    known = _count(name, arg.type)
    if known is not None:
        return emitter.constant(known, "index")
    return emitter.emit("shape", [arg], scalar("index"), name=name)


def _count(name: str, type: Type) -> int | None:
    if name == "nrow":
        return type.rows
    if name == "ncol":
        return type.columns
    if type.rows is None or type.columns is None:
        return None
    return type.rows * type.columns


for _name in ("nrow", "ncol", "ncell"):
    _register(_name)


@builtin("typeOf", "arg")
def type_of(emitter: Emitter, arg: Value) -> Value:
    """Tell the type of a value, as ``print`` shows it."""
    return emitter.emit("type_of", [arg], scalar("str"))


@builtin("sparsity", "arg")
def sparsity(emitter: Emitter, arg: Value) -> Value:
    """Tell the share of cells that are not zero."""
    emitter.numbers(arg, "arg")
    return emitter.emit("sparsity", [arg], scalar("f64"))


@builtin("isSymmetric", "arg")
def is_symmetric(emitter: Emitter, arg: Value) -> Value:
    """Tell whether a square matrix is its own transpose."""
    type = emitter.numbers(arg, "arg")
    emitter.equal(type.rows, type.columns, "isSymmetric takes a square matrix")
    return emitter.emit("is_symmetric", [arg], scalar("bool"))
