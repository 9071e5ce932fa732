"""What events carry, as bytes: arrays without a copy on the way in, all else by pickle.

Called by the native half for what it does not do itself (numbers, booleans, text, bytes). The kinds
up to 11 are those of the C header, which also knows how arrays begin: C gets those of its types as
such.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

import numpy as np

from freestone import functions
from freestone.errors import BadEventError, NotSerializableError

INT, LONG, FLOAT, DOUBLE, BOOL = 1, 2, 3, 4, 7
COMPLEX_FLOAT, COMPLEX_DOUBLE, INT8, INT16 = 8, 9, 10, 11
ARRAY, TEXT, PICKLE = 16, 17, 18
ALIGNMENT = 64
_TYPES: dict[int, type[np.generic]] = {
    INT: np.int32,
    LONG: np.int64,
    FLOAT: np.float32,
    DOUBLE: np.float64,
    BOOL: np.bool_,
    COMPLEX_FLOAT: np.complex64,
    COMPLEX_DOUBLE: np.complex128,
    INT8: np.int8,
    INT16: np.int16,
}
_KINDS = {np.dtype(scalar): kind for kind, scalar in _TYPES.items()}
_HEAD = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")


def encode(value: Any, id: str) -> tuple[int, list[Any]]:
    """Encode what an event carries: its kind, and buffers that belong one after the other.

    A NumPy array costs one copy, by the transport. A scalar of NumPy is a number of its type, as C
    and Fortran have it, and so is Python's complex one. Anything else is pickled with protocol 5,
    large buffers in it (arrays, Arrow tables) out of band.

    Raises
    ------
    NotSerializableError
        If pickle refuses it.
    """
    if type(value) is np.ndarray and not value.dtype.hasobject and value.dtype.names is None:
        return ARRAY, _array(value)
    if type(value) is complex:
        value = np.complex128(value)
    if isinstance(value, np.generic) and (kind := _KINDS.get(value.dtype)) is not None:
        return kind, [value.tobytes()]
    return PICKLE, _pickle(value, id)


def decode(kind: int, buffer: Any, id: str, source: int) -> Any:
    """Decode what `encode` or a program in C gave. Arrays are read-only views of `buffer`.

    Raises
    ------
    BadEventError
        If it has a type that only others know, or is text that is not UTF-8.
    """
    if kind == ARRAY:
        return _read_array(memoryview(buffer))
    if kind == PICKLE:
        return _read_pickle(memoryview(buffer))
    if kind in _TYPES:
        numbers: np.ndarray[Any, Any] = np.frombuffer(buffer, dtype=_TYPES[kind])
        return numbers.item() if numbers.size == 1 else numbers
    event = f"the event {id!r} from rank {source} carries {memoryview(buffer).nbytes} bytes"
    if kind == TEXT:
        try:
            return bytes(buffer).decode()
        except UnicodeDecodeError as error:
            raise BadEventError(
                f"{event} as text, and byte {error.start} is none of UTF-8 "
                f"(0x{error.object[error.start]:02x}); encode the text as UTF-8, or fire bytes"
            ) from error
    raise BadEventError(
        f"{event} of type {kind}, which is none that Python, C or Fortran fires; see that all "
        "ranks run the same version of freestone, or fire bytes"
    )


def _array(array: np.ndarray[Any, Any]) -> list[Any]:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    head = f"{array.dtype.str} {order} {' '.join(map(str, array.shape))}".encode()
    size = _HEAD.size + len(head)
    padding = bytes(-size % ALIGNMENT)
    flat = array.ravel(order="F" if order == "F" else "C").view(np.uint8)
    return [_HEAD.pack(len(head), len(padding)) + head + padding, flat]


def _read_array(view: memoryview) -> np.ndarray[Any, Any]:
    length, padding = _HEAD.unpack_from(view)
    dtype, order, *shape = bytes(view[_HEAD.size : _HEAD.size + length]).decode().split()
    start = _HEAD.size + length + padding
    flat = np.frombuffer(view[start:], dtype=np.dtype(dtype))
    return flat.reshape([int(size) for size in shape], order="F" if order == "F" else "C")


def _pickle(value: Any, id: str) -> list[Any]:
    buffers: list[pickle.PickleBuffer] = []
    try:
        stream = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError):
        buffers.clear()
        stream = _by_functions(value, id, buffers)
    raw = [buffer.raw() for buffer in buffers]
    sizes = [len(stream), *(len(part) for part in raw)]
    head = _LENGTH.pack(len(sizes)) + b"".join(map(_LENGTH.pack, sizes)) + stream
    pieces: list[Any] = [head]
    position = len(head)
    for part in raw:
        pieces += [bytes(-position % ALIGNMENT), part]
        position += -position % ALIGNMENT + len(part)
    return pieces


def _by_functions(value: Any, id: str, buffers: list[pickle.PickleBuffer]) -> bytes:
    """Pickle what plain pickle can't: functions and classes that are nowhere to be imported."""
    try:
        return functions.dumps(value, buffers.append)
    except Exception as error:
        raise NotSerializableError(
            what="event",
            where="its data",
            kind=type(value).__name__,
            label=id,
            reason=f"{error}; to SELF, by_reference=True carries the object itself",
        ) from error


def _read_pickle(view: memoryview) -> Any:
    (count,) = _LENGTH.unpack_from(view)
    sizes = [_LENGTH.unpack_from(view, 8 * index + 8)[0] for index in range(count)]
    start = 8 * count + 8
    position = start + sizes[0]
    buffers = []
    for size in sizes[1:]:
        position += -position % ALIGNMENT
        buffers.append(view[position : position + size])
        position += size
    return pickle.loads(view[start : start + sizes[0]], buffers=buffers)
