"""The analysis as tasks: what is retained, and what changes when a constant does.

Reading a file and computing masses is the long part and does not depend on the selection;
selecting and counting is the short part and does. As two tasks, a new selection makes only
the second run again.
"""

import os
from collections.abc import Callable, Iterable
from operator import add
from typing import Any

import numpy as np

import freestone as fs
from freestone.demo import resample, samples
from freestone.demo.physics import Dimuons, Floats, Ints, count_masses, dimuons

SOFTER_PT_GEV = 20.0
"""The selection: both muons have at least this transverse momentum."""

CHANGED_SOFTER_PT_GEV = 25.0
"""The selection of the run in which it has changed."""


@fs.task(keep="session")
def zmumu_pairs(file: str | os.PathLike[str], start: int, stop: int) -> Floats:
    """Read rows of the collisions: see `samples.read_zmumu`."""
    return samples.read_zmumu(file, start, stop)


@fs.task(keep="session")
def hzz_pairs(file: str | os.PathLike[str], start: int, stop: int) -> Floats:
    """Read events of the simulation: see `samples.read_hzz`."""
    return samples.read_hzz(file, start, stop)


@fs.task(keep="session")
def dimuons_of_pairs(pairs: Floats) -> Dimuons:
    """Compute masses and transverse momenta of a block of pairs."""
    return dimuons(pairs)


@fs.task(keep="session")
def dimuons_of_file(file: str | os.PathLike[str]) -> Dimuons:
    """Read a Parquet file of pairs and compute masses and transverse momenta."""
    return dimuons(resample.read_pairs(file))


@fs.task(pure=False)
def make_file(path: str, measured: list[Floats], events: int, seed: int, index: int) -> int:
    """Write one file of resampled events; return its size in bytes."""
    drawn, origin = resample.resample(np.concatenate(measured), events, seed=seed, index=index)
    resample.write_pairs(path, drawn, origin)
    return os.path.getsize(path)


def histogram_task(softer_pt_min: float) -> Callable[..., Any]:
    """Make the task that selects and counts, with the selection as a constant in it.

    The constant is captured, as it is in a notebook's function, so it is part of the
    function's name: another value is another function.

    Parameters
    ----------
    softer_pt_min : float
        Both muons have at least this transverse momentum, in GeV.
    """

    @fs.task(keep="session")
    def histogram(found: Dimuons) -> Ints:
        return count_masses(found, softer_pt_min)

    return histogram


def total_of(blocks: Iterable[Any], softer_pt_min: float = SOFTER_PT_GEV) -> Ints:
    """Count all blocks of masses and add up the counts.

    Parameters
    ----------
    blocks : iterable of Future of Dimuons
        The masses.
    softer_pt_min : float, optional
        The selection, in GeV.

    Returns
    -------
    ndarray of int64, shape (bins,)
        The same to the last bit in whatever order the blocks are done.
    """
    histogram = histogram_task(softer_pt_min)
    total = fs.reduce(add, [histogram(block) for block in blocks], commutes=True)
    counts: Ints = total.result()
    return counts
