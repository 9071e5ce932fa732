"""Options of calls, in the form in which they travel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from freestone import _native
from freestone.config import parse_nbytes

__all__ = ["native_options"]


@lru_cache(maxsize=1024)
def native_options(
    amounts: tuple[tuple[str, int | str], ...], outputs: int, options: tuple[tuple[str, Any], ...]
) -> _native.Options:
    """Make the options of calls; the same object for the same ones."""
    known = {"cores", "gpus", "memory", "disk"}
    unknown = [key for key, _ in amounts if key not in known]
    if unknown:
        raise ValueError(f"unknown resources {unknown}: there are {sorted(known)}")
    parsed: dict[str, Any] = {
        key: parse_nbytes(amount) if key in ("memory", "disk") else int(amount)
        for key, amount in amounts
    }
    return _native.Options(**parsed, outputs=outputs, **dict(options))
