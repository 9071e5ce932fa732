"""Values that all ranks have alike, as the bytes that C and Fortran have of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.errors import SavedStateError

__all__ = ["plain_bytes", "value_of"]


def plain_bytes(value: Any) -> npt.NDArray[np.uint8] | None:
    """Return the bytes of a number, of an array of numbers or of bytes; nothing for other values.

    Whole numbers have 8, as ``int64_t``; others are ``double``.
    """
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if not isinstance(value, bool | int | float | np.ndarray | np.generic):
        return None
    found = np.asarray(value)
    if found.dtype.hasobject:
        return None
    return np.frombuffer(found.tobytes(), np.uint8)


def value_of(name: str, content: npt.NDArray[np.uint8], like: Any) -> Any:
    """Return a value of the type and shape of another one.

    Raises
    ------
    SavedStateError
        If it has not as many bytes.
    """
    if isinstance(like, bytes):
        return content.tobytes()
    own = plain_bytes(like)
    if own is None or own.nbytes != content.nbytes:
        has = f"has {own.nbytes}" if own is not None else "is none of numbers"
        problem = (
            f"{name!r} has {content.nbytes} bytes in the file, and {like!r}, with which the "
            f"program registers it, {has}; begin with a number or an array of that size"
        )
        raise SavedStateError(problem, path="")
    array = np.asarray(like)
    found = np.frombuffer(content.tobytes(), array.dtype).reshape(array.shape)
    return type(like)(found[()]) if isinstance(like, bool | int | float) else found[()].copy()
