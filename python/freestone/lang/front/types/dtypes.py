"""NumPy's types of elements in the words of the language."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.lang.front.types.types import DTYPES

__all__ = ["CELL_OF", "cell_of"]

CELL_OF = {np.dtype(dtype): cell for cell, dtype in DTYPES.items() if cell != "index"}


def cell_of(dtype: Any) -> str:
    """Return the type of cells that a NumPy type holds."""
    found = CELL_OF.get(np.dtype(dtype))
    if found is None:
        found = "str" if np.dtype(dtype).kind in "US" else None
    if found is None:
        raise ValueError(f"arrays of {np.dtype(dtype)} are not supported; convert to float64 first")
    return found
