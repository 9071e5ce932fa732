"""Matrices and frames as compiled kernels see them: the structures of ``freestone_kernel.h``."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Protocol

import numpy as np

from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels.frames import Frame
from freestone.lang.run.kernels.sparse import MAX_COLUMNS, Csr

__all__ = ["ABI", "ArrayMover", "Context", "Object", "SharedObject", "as_it_is", "taken"]

ABI = 1
DENSE, CSR, FRAME = 1, 2, 3
CODES = ("si8", "si32", "si64", "ui8", "ui32", "ui64", "f32", "f64", "str", "bool")
HOST = 0

Array = np.ndarray[Any, Any]


class ArrayMover(Protocol):
    """Moves arrays to where a kernel may read, or write, them."""

    def __call__(self, array: Array, *, writable: bool = False) -> Array:
        """Return an array's elements there."""
        ...


def as_it_is(array: Array, *, writable: bool = False) -> Array:
    """Let a kernel have an array where it is."""
    return array


class Object(ctypes.Structure):
    """``freestone_object``: a matrix or a frame."""


class String(ctypes.Structure):
    """``freestone_string``: an element that is text."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(Object))
Object._fields_ = (
    ("form", ctypes.c_uint32),
    ("dtype", ctypes.c_uint32),
    ("place", ctypes.c_int32),
    ("device", ctypes.c_int32),
    ("rows", ctypes.c_size_t),
    ("columns", ctypes.c_size_t),
    ("values", ctypes.c_void_p),
    ("row_stride", ctypes.c_size_t),
    ("capacity", ctypes.c_size_t),
    ("row_offsets", ctypes.c_void_p),
    ("column_indexes", ctypes.c_void_p),
    ("frame_columns", ctypes.POINTER(ctypes.POINTER(Object))),
    ("labels", ctypes.POINTER(ctypes.c_char_p)),
    ("owner", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
)


class Context(ctypes.Structure):
    """``freestone_context``: what a kernel can ask about the run, and where it says what failed."""

    _fields_ = (
        ("abi", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("place", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("message", ctypes.c_char * 1024),
    )


class SharedObject:
    """A value that a kernel is given, and all that has to live until it returns.

    Parameters
    ----------
    value : ndarray, Csr or Frame
        The matrix or frame.
    place : callable
        Moves arrays to where the kernel may read them.
    """

    def __init__(self, value: Any, place: ArrayMover) -> None:
        self._place = place
        self._held: list[Any] = []
        self.object = self._made(value)

    def _made(self, value: Any) -> Object:
        if isinstance(value, Csr):
            return self._csr(value)
        return self._frame(value) if isinstance(value, Frame) else self._dense(value)

    def _kept(self, array: Array) -> int:
        placed = self._place(array)
        self._held.append(placed)
        return placed.ctypes.data

    def _dense(self, array: Array) -> Object:
        if array.dtype == object:
            return self._texts(array)
        if not _has_whole_rows(array):
            array = np.ascontiguousarray(array)
        made = _sized(DENSE, array)
        made.values = self._kept(array)
        placed = self._held[-1]
        if placed.shape[0] > 1:
            made.row_stride = placed.strides[0] // placed.itemsize
        return made

    def _texts(self, array: Array) -> Object:
        made = _sized(DENSE, array)
        texts = [str(text).encode() for text in array.ravel()]
        cells = (String * max(len(texts), 1))()
        for cell, text in zip(cells, texts, strict=False):
            held = ctypes.create_string_buffer(text)
            self._held.append(held)
            cell.data, cell.size = ctypes.addressof(held), len(text)
        self._held.append(cells)
        made.values = ctypes.addressof(cells)
        return made

    def _csr(self, value: Csr) -> Object:
        made = _sized(CSR, value)
        made.capacity = len(value.cells)
        made.values = self._kept(np.ascontiguousarray(value.cells))
        made.row_offsets = self._kept(value.indptr.astype("u8"))
        made.column_indexes = self._kept(value.indices.astype("u8"))
        return made

    def _frame(self, value: Frame) -> Object:
        made = Object(form=FRAME, rows=value.shape[0], columns=value.shape[1])
        columns = [self._dense(np.ascontiguousarray(c).reshape(-1, 1)) for c in value.columns]
        pointers = (ctypes.POINTER(Object) * max(len(columns), 1))(*map(ctypes.pointer, columns))
        labels = (ctypes.c_char_p * max(len(columns), 1))(*(one.encode() for one in value.labels))
        self._held += [columns, pointers, labels]
        made.frame_columns, made.labels = pointers, labels
        return made


def _has_whole_rows(array: Array) -> bool:
    """Tell whether elements of a row follow each other, and rows do not overlap."""
    rows, columns = array.shape
    row, column = array.strides
    follows = columns <= 1 or column == array.itemsize
    apart = rows <= 1 or (row >= columns * array.itemsize and row % array.itemsize == 0)
    return bool(follows and apart and array.flags.aligned)


def _sized(form: int, value: Any) -> Object:
    rows, columns = value.shape
    cell = _cell_of(value.dtype)
    return Object(
        form=form, dtype=CODES.index(cell), rows=rows, columns=columns, row_stride=columns
    )


def _cell_of(dtype: Any) -> str:
    return next(cell for cell in CODES if np.dtype(DTYPES[cell]) == dtype)


def taken(pointer: Any) -> Any:
    """Take a result over from a kernel: its memory is released when nobody needs it any more.

    Raises
    ------
    ValueError
        If it is no matrix or frame of this machine's memory.
    """
    found = pointer.contents
    if found.place != HOST:
        raise ValueError(f"its result lies in place {found.place}, not in this machine's memory")
    if found.form not in (DENSE, CSR, FRAME) or (found.form != FRAME and found.dtype >= len(CODES)):
        raise ValueError(f"its result has form {found.form} and type {found.dtype}: none of both")
    if found.form == FRAME:
        made: Any = _frame_taken(found)
    elif found.form == CSR:
        made = _csr_taken(found)
    else:
        owned = found.owner == ctypes.addressof(found) and found.rows * found.columns > 0
        if owned and CODES[found.dtype] != "str":
            return _dense_taken(found, pointer)
        # What it is a view of may go.
        made = _dense_taken(found).copy()
    _release(pointer)
    return made


def _release(pointer: Any) -> None:
    if pointer.contents.release:
        Release(pointer.contents.release)(pointer)


def _numbers(address: int | None, count: int, dtype: Any, pointer: Any = None) -> Array:
    """Return elements in a kernel's memory, which is released with them if a pointer is given."""
    if not count:
        return np.empty(0, dtype)
    if not address:
        raise ValueError("its result has no elements, where its shape says that there are some")
    raw = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    if pointer is not None:
        weakref.finalize(raw, _release, pointer).atexit = False
    return np.frombuffer(raw, dtype)


def _dense_taken(found: Object, pointer: Any = None) -> Array:
    cell, rows, columns = CODES[found.dtype], found.rows, found.columns
    if cell == "str":
        count = rows * columns if found.values else 0
        texts = (String * count).from_address(found.values or 0) if count else ()
        cells = [ctypes.string_at(text.data, text.size).decode() for text in texts]
        return np.array(cells, object).reshape(rows, columns)
    stride = max(found.row_stride, columns)
    count = (rows - 1) * stride + columns if rows else 0
    flat = _numbers(found.values, count if columns else 0, DTYPES[cell], pointer)
    size = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * size, size))


def _csr_taken(found: Object) -> Csr:
    if found.columns > MAX_COLUMNS:
        raise ValueError(f"its result has {found.columns} columns; CSR has {MAX_COLUMNS} at most")
    offsets = _numbers(found.row_offsets, found.rows + 1, "u8").astype("i8")
    if offsets[0] or np.any(np.diff(offsets) < 0) or offsets[-1] > found.capacity:
        raise ValueError("the row offsets of its result do not ascend from 0 to what is stored")
    stored = int(offsets[-1])
    columns = _numbers(found.column_indexes, stored, "u8")
    if stored and columns.max() >= found.columns:
        raise ValueError(f"its result stores an element in column {columns.max()}, which is none")
    cells = _numbers(found.values, stored, DTYPES[CODES[found.dtype]]).copy()
    shape = int(found.rows), int(found.columns)
    return Csr(shape, offsets, columns.astype("i4"), cells)


def _frame_taken(found: Object) -> Frame:
    columns, labels, cells = [], [], []
    for at in range(found.columns):
        column = found.frame_columns[at].contents
        if column.form != DENSE or column.columns != 1 or column.rows != found.rows:
            raise ValueError(f"column {at} of its frame is no column of {found.rows} elements")
        # The frame owns its columns, and they go with it.
        columns.append(_dense_taken(column).ravel().copy())
        labels.append((found.labels[at] or b"").decode())
        cells.append(CODES[column.dtype])
    return Frame(columns, labels, cells, found.rows)
