"""What every pipeline has to find: computed here, one step after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from examples.insitu.items import merge, partials, summary
from examples.insitu.model import block
from examples.insitu.settings import FIELDS, Results, Settings

__all__ = ["agree", "expected"]


Block = Callable[[Settings, int, int, int], NDArray[np.float64]]


def expected(settings: Settings, block: Block = block) -> Results:
    """Compute the diagnostics of every step and field of a model's blocks."""
    found: Results = {}
    for step in range(settings.steps):
        there = [m for m in range(settings.members) if step in settings.steps_of(m)]
        for field in range(len(FIELDS)):
            blocks = [block(settings, member, step, field) for member in there]
            values = np.array(blocks).reshape(len(there), settings.points)
            found[step, field] = summary(
                merge(partials(values).T.tolist()) if there else (0.0,) * 5
            )
    return found


def agree(found: Results, settings: Settings, block: Block = block) -> bool:
    """Tell whether results are those that are expected, but for rounding."""
    wanted = expected(settings, block)
    if found.keys() != wanted.keys():
        return False
    keys = list(wanted)
    ours, theirs = (np.array([each[key] for key in keys]) for each in (found, wanted))
    return bool(np.allclose(ours, theirs, rtol=1e-9, atol=1e-6, equal_nan=True))
