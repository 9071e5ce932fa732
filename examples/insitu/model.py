"""The model: a real field, the terrain around a fault in Tennessee, carried by winds.

The elevations come with Matplotlib; each field of the model is these, carried along by so many grid
points a step, around the edges.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from examples.insitu.items import pack
from examples.insitu.settings import FIELDS, Settings

__all__ = ["block", "packed", "schedule", "terrain"]


@functools.cache
def terrain() -> NDArray[np.float64]:
    """Return elevations in metres, shape ``(344, 403)``."""
    from matplotlib import cbook

    with cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        return np.asarray(data["elevation"], np.float64)


def block(settings: Settings, member: int, step: int, field: int) -> NDArray[np.float64]:
    """Return a computational rank's values of a field at a step, shape ``(points,)``.

    The ranks have stretches of rows that lie one after the other, in a window as wide as a stretch
    is high that moves with the field's wind.
    """
    elevations = terrain()
    width = max(1, int(settings.points**0.5))
    places = np.arange(member * settings.points, (member + 1) * settings.points)
    rows = places // width + step * (field + 1)
    columns = places % width + step * (2 * field - len(FIELDS))
    return elevations[rows % elevations.shape[0], columns % elevations.shape[1]]


def schedule(settings: Settings, member: int, seed: int = 7) -> Iterator[tuple[int, int]]:
    """Yield the steps and fields that a computational rank sends: steps in order, fields in none."""
    random = np.random.default_rng([seed, member])
    for step in settings.steps_of(member):
        for field in random.permutation(len(FIELDS)).tolist():
            yield step, field


def packed(settings: Settings, member: int) -> list[bytes]:
    """Compute all items of a computational rank beforehand, so that sending them costs little."""
    return [
        pack(step, field, member, block(settings, member, step, field))
        for step, field in schedule(settings, member)
    ]


def paced(settings: Settings, items: list[bytes]) -> Iterator[bytes]:
    """Yield items in their time."""
    start = time.perf_counter()
    for index, item in enumerate(items):
        if settings.period_s:
            time.sleep(max(0.0, start + index * settings.period_s - time.perf_counter()))
        yield item
