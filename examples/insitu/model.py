"""The model: a real field, the terrain around a fault in Tennessee, carried by winds.

The elevations come with Matplotlib: SciPy's data are downloads, and scikit-image's are photographs.
Each field of the model is these, carried along by so many grid points a step, around the edges.
"""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.insitu.items import pack
from examples.insitu.settings import FIELDS, Settings

__all__ = ["block", "packed", "schedule", "terrain"]


@functools.cache
def terrain() -> NDArray[np.float64]:
    """Return elevations in metres, shape ``(344, 403)``."""
    # Found without importing Matplotlib, which would take longer than all that a rank does.
    package = importlib.util.find_spec("matplotlib")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the terrain comes with matplotlib: pip install matplotlib")
    path = Path(package.origin).parent / "mpl-data" / "sample_data" / "jacksboro_fault_dem.npz"
    with np.load(path) as data:
        return np.asarray(data["elevation"], np.float64)


def block(settings: Settings, member: int, step: int, field: int) -> NDArray[np.float64]:
    """Return a computational rank's values of a field at a step, shape ``(points,)``.

    Each rank has a square, or nearly, of a column of them; the column moves with the field's wind.
    """
    elevations = terrain()
    width = max(1, int(settings.points**0.5))
    places = np.arange(member * settings.points, (member + 1) * settings.points)
    rows = places // width + step * (field + 1)
    columns = places % width + step * (2 * field - len(FIELDS))
    found: NDArray[np.float64] = elevations[
        rows % elevations.shape[0], columns % elevations.shape[1]
    ]
    return found


def schedule(settings: Settings, member: int, seed: int = 7) -> Iterator[tuple[int, int]]:
    """Yield the steps and fields that a computational rank sends: steps in order, fields not."""
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
