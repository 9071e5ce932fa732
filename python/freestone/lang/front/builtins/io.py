"""Printing, files, stopping."""

from __future__ import annotations

from contextlib import suppress

from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptRunError
from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.types import NOTHING, Type, common_type, matrix, scalar


@builtin("print", "arg newline? err?")
def print_(emitter: Emitter, arg: Value, *options: Value) -> Value:
    """Print a value."""
    if arg.type.data == "nothing":
        emitter.fail("there is nothing to print: this call has no result")
    for option in options:
        emitter.number(option, "newline and err")
    return emitter.emit("print", [arg, *options], NOTHING)


@builtin("stop", "message?")
def stop(emitter: Emitter, message: Value | None = None) -> Value:
    """End the script with an error."""
    operands = [] if message is None else [message]
    for value in operands:
        emitter.scalar(value, "message")
    return emitter.emit("stop", operands, NOTHING)


def _described(emitter: Emitter, file: Value) -> Type:
    """Find the type of what a file holds when it is read."""
    from freestone.lang.front.file_types import describe

    emitter.text(file, "filename")
    path = str(emitter.known(file, "filename"))
    written = emitter.files.written(path, emitter.block)
    if written is not None:
        return written
    try:
        return emitter.files.stored(describe(path))
    except ValueError as error:
        # What a file holds is found out before the script runs; a file that can't be read fails it.
        raise failure(ScriptRunError, str(error), emitter.place) from None


@builtin("readMatrix", "filename")
def read_matrix(emitter: Emitter, file: Value) -> Value:
    """Read a matrix."""
    type = _described(emitter, file)
    if type.data == "frame":
        cells = [cell for _, cell in type.schema or ()]
        type = matrix(common_type(cells), type.rows, type.columns)
    return emitter.emit("read", [file], type)


@builtin("readFrame", "filename")
def read_frame(emitter: Emitter, file: Value) -> Value:
    """Read a frame."""
    type = _described(emitter, file)
    if type.data == "matrix":
        columns = type.columns or 0
        schema = tuple((f"col_{index}", type.cell) for index in range(columns))
        type = Type("frame", "", type.rows, columns, schema)
    return emitter.emit("read", [file], type)


@builtin("write writeMatrix writeFrame", "arg filename")
def write(emitter: Emitter, arg: Value, file: Value) -> Value:
    """Write a matrix or a frame, and what describes it."""
    if arg.type.data not in ("matrix", "frame"):
        emitter.fail(f"write takes a matrix or a frame, not a {arg.type}")
    emitter.text(file, "filename")
    emitter.files.write(file.const, _kept(file, arg.type), emitter.block)
    return emitter.emit("write", [arg, file], NOTHING)


def _kept(file: Value, type: Type) -> Type:
    from freestone.lang.front.file_types import kept

    # A name that no format has is refused when it is written to.
    with suppress(FreestoneError):
        return kept(str(file.const), type)
    return type


@builtin("readCsv", "filename numRows numCols delimiter")
def read_csv(emitter: Emitter, file: Value, rows: Value, columns: Value, delimiter: Value) -> Value:
    """Read numbers that are separated by a delimiter."""
    emitter.text(file, "filename")
    emitter.text(delimiter, "delimiter")
    type = matrix("f64", emitter.size(rows, "numRows"), emitter.size(columns, "numCols"))
    return emitter.emit("read_csv_file", [file, rows, columns, delimiter], type)


@builtin("openFile", "filename")
def open_file(emitter: Emitter, file: Value) -> Value:
    """Check that a file is there; readCsv takes what this gives."""
    emitter.text(file, "filename")
    return emitter.emit("open_file", [file], scalar("str"))


@builtin("openDevice", "device")
def open_device(emitter: Emitter, device: Value) -> Value:
    """Check that a device is there, by the folder where it is mounted."""
    emitter.text(device, "device")
    return emitter.emit("open_device", [device], scalar("str"))


@builtin("openFileOnTarget", "target filename")
def open_file_on_target(emitter: Emitter, target: Value, file: Value) -> Value:
    """Check that a file is on a device that openDevice gave; readCsv takes what this gives."""
    emitter.text(target, "target")
    emitter.text(file, "filename")
    return emitter.emit("open_on_device", [target, file], scalar("str"))


@builtin("close", "file")
def close(emitter: Emitter, file: Value) -> Value:
    """Let go of a file."""
    emitter.text(file, "file")
    return emitter.emit("close", [file], NOTHING)
