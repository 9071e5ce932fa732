"""Kinematics of muon pairs, in plain NumPy.

A muon is a four-vector, the last axis of an array in the order energy, px, py, pz, all in
GeV (with c = 1). A pair is two of them, so ``n`` pairs have the shape ``(n, 2, 4)``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MUON_MASS_GEV = 0.1056583755
"""The muon's mass (Particle Data Group 2022)."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Dimuons(NamedTuple):
    """What the selection of muon pairs is made on: one entry per pair.

    Attributes
    ----------
    mass : ndarray, shape (n,)
        Invariant mass in GeV.
    softer_pt : ndarray, shape (n,)
        Transverse momentum of the muon that has less of it, in GeV.
    """

    mass: Floats
    softer_pt: Floats


@dataclass(frozen=True)
class Binning:
    """Bins of equal width.

    Parameters
    ----------
    low, high : float
        The outer edges, in GeV.
    bins : int
        How many bins.
    """

    low: float
    high: float
    bins: int

    @property
    def width(self) -> float:
        """The width of a bin in GeV."""
        return (self.high - self.low) / self.bins

    @property
    def edges(self) -> Floats:
        """The edges in GeV, shape (bins + 1,)."""
        return np.linspace(self.low, self.high, self.bins + 1, dtype=np.float64)

    @property
    def centers(self) -> Floats:
        """The middle of each bin in GeV, shape (bins,)."""
        edges = self.edges
        return (edges[1:] + edges[:-1]) / 2


Z_WINDOW = Binning(60.0, 120.0, 60)
"""The window in which the Z is looked for, in bins of 1 GeV."""


def invariant_mass(pairs: Floats) -> Floats:
    """Compute the invariant mass of each pair.

    Parameters
    ----------
    pairs : ndarray, shape (n, 2, 4)
        Four-vectors in GeV.

    Returns
    -------
    ndarray, shape (n,)
        ``sqrt(E^2 - |p|^2)`` of the summed four-vectors in GeV; 0 where rounding makes the
        square negative.

    Examples
    --------
    Two massless muons of 45 GeV, back to back:

    >>> float(invariant_mass(np.array([[[45.0, 45.0, 0, 0], [45.0, -45.0, 0, 0]]]))[0])
    90.0
    """
    total = np.asarray(pairs, dtype=np.float64).sum(axis=-2)
    momentum_squared = np.square(total[..., 1:]).sum(axis=-1)
    mass: Floats = np.sqrt(np.maximum(np.square(total[..., 0]) - momentum_squared, 0.0))
    return mass


def transverse_momentum(muons: Floats) -> Floats:
    """Compute the momentum across the beam, ``hypot(px, py)``.

    Parameters
    ----------
    muons : ndarray, shape (..., 4)
        Four-vectors in GeV.

    Returns
    -------
    ndarray, shape (...)
        In GeV.
    """
    return np.hypot(muons[..., 1], muons[..., 2])


def dimuons(pairs: Floats) -> Dimuons:
    """Compute the quantities that pairs are selected by.

    Parameters
    ----------
    pairs : ndarray, shape (n, 2, 4)
        Four-vectors in GeV.
    """
    pairs = np.asarray(pairs, dtype=np.float64)
    return Dimuons(invariant_mass(pairs), transverse_momentum(pairs).min(axis=-1))


def count_masses(found: Dimuons, softer_pt_min: float, binning: Binning = Z_WINDOW) -> Ints:
    """Count the selected pairs in bins of their mass.

    Counts are integers, so sums of them are the same in whatever order they are made.

    Parameters
    ----------
    found : Dimuons
        The pairs.
    softer_pt_min : float
        Both muons must have at least this transverse momentum, in GeV.
    binning : Binning, optional
        By default the window around the Z in bins of 1 GeV.

    Returns
    -------
    ndarray of int64, shape (bins,)
        Pairs outside of the window are not counted.
    """
    selected = found.mass[found.softer_pt >= softer_pt_min]
    counts, _ = np.histogram(selected, bins=binning.bins, range=(binning.low, binning.high))
    return counts.astype(np.int64)


def opposite_sign_pairs(counts: Ints, charges: Ints) -> tuple[Ints, Ints]:
    """Pair up the muons of each event that have opposite charges.

    Parameters
    ----------
    counts : ndarray of int, shape (n_events,)
        How many muons each event has.
    charges : ndarray of int, shape (n_muons,)
        Their charges, event after event.

    Returns
    -------
    first, second : ndarray of int64, shape (n_pairs,)
        Positions of the two muons of each pair in `charges`; every pair of an event once.

    Raises
    ------
    ValueError
        If `counts` does not add up to the number of charges.

    Notes
    -----
    Linear in the number of events for each of the ``k (k - 1) / 2`` ways to choose two out
    of the ``k`` muons of the fullest event.

    Examples
    --------
    An event with muons +, -, + and one with a lone muon:

    >>> first, second = opposite_sign_pairs(np.array([3, 1]), np.array([1, -1, 1, -1]))
    >>> list(zip(first.tolist(), second.tolist()))
    [(0, 1), (1, 2)]
    """
    if int(counts.sum()) != len(charges):
        raise ValueError(f"{len(charges)} charges for {int(counts.sum())} muons")
    starts = np.cumsum(counts) - counts
    firsts, seconds = [], []
    for a in range(int(counts.max(initial=0))):
        for b in range(a + 1, int(counts.max())):
            events = starts[counts > b]
            firsts.append(events + a)
            seconds.append(events + b)
    if not firsts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    opposite = charges[first] * charges[second] < 0
    return first[opposite], second[opposite]


def scale_momenta(muons: Floats, factors: Floats) -> Floats:
    """Scale the momentum of each muon and give it the energy that belongs to it.

    Parameters
    ----------
    muons : ndarray, shape (..., 4)
        Four-vectors in GeV.
    factors : ndarray, shape (...)
        What each momentum is multiplied by.

    Returns
    -------
    ndarray, shape (..., 4)
        With the same directions and the muon's mass.
    """
    scaled = np.empty(np.shape(muons), dtype=np.float64)
    scaled[..., 1:] = muons[..., 1:] * factors[..., np.newaxis]
    momentum_squared = np.square(scaled[..., 1:]).sum(axis=-1)
    scaled[..., 0] = np.sqrt(momentum_squared + MUON_MASS_GEV**2)
    return scaled
