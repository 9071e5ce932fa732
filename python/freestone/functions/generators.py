"""Generators of random numbers that each process has one of.

`random.random` and `numpy.random.rand` are bound methods of such a one. Sent with its state, every
process that loads the function would draw the same numbers; by its name it is each process's own,
as it is for a function that calls ``random.random()``.
"""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["place_of_generator"]

_PLACES: Final = {"Random": ("random", "_inst"), "RandomState": ("numpy.random.mtrand", "_rand")}


def place_of_generator(value: object) -> tuple[str, str] | None:
    """Return the module that keeps this generator for its process, and the name there, if any."""
    place = _PLACES.get(type(value).__name__)
    if place is None:
        return None
    module, name = place
    return place if getattr(sys.modules.get(module), name, None) is value else None
