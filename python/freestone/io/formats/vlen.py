"""Texts of any length in HDF5 and NetCDF 4, as arrays of texts that are as wide as the longest."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.io.formats.tables import needs

__all__ = ["texts_of", "widest_text"]

# So many texts of a dataset without chunks are looked at together.
MANY = 1 << 16


def widest_text(dataset: Any) -> np.dtype[Any]:
    """Return the dtype of a dataset's values; where they are texts of any length, all are read."""
    stored: np.dtype[Any] = np.dtype(dataset.dtype)
    if not is_text(stored):
        return stored
    rows = dataset.chunks[0] if dataset.chunks else max(MANY // max(_row_size(dataset), 1), 1)
    widths = [
        len(_text(one))
        for start in range(0, dataset.shape[0], rows)
        for one in np.asarray(dataset[start : start + rows]).reshape(-1)
    ]
    return np.dtype(f"U{max(widths, default=1) or 1}")


def texts_of(values: Any, dtype: str | None) -> Any:
    """Return texts of any length as an array of a dtype; other values as they are."""
    if not is_text(values.dtype):
        return values
    texts = [_text(one) for one in values.reshape(-1)]
    return np.array(texts, dtype).reshape(values.shape)


def is_text(dtype: np.dtype[Any]) -> bool:
    """Tell whether h5py's dtype is one of texts of any length."""
    return dtype.kind == "O" and (
        needs("h5py", "hdf5", "HDF5").check_string_dtype(dtype) is not None
    )


def _row_size(dataset: Any) -> int:
    return int(np.prod(dataset.shape[1:]))


def _text(one: Any) -> str:
    return one.decode() if isinstance(one, bytes) else str(one)
