"""Placement policies: which worker gets which block of a split, also by other packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from freestone.errors import did_you_mean
from freestone.partitions.holders import Holders
from freestone.plugins import load, names

__all__ = ["GROUP", "Placement", "chosen", "placement_of"]

GROUP = "freestone.placements"
"""The entry points in which other packages offer policies."""

Ints = NDArray[np.int64]


@runtime_checkable
class Placement(Protocol):
    """Which worker gets which block when a collection is split."""

    def place(self, nbytes: Ints, holders: Holders, slots: Mapping[int, int]) -> Sequence[int]:
        """Choose a worker for each block.

        Parameters
        ----------
        nbytes : ndarray of shape (blocks,)
            Bytes of each block; those of its partners as well, where several collections are split
            together.
        holders : Holders
            Which workers hold each block. Those that hold none are missing in it: a block that is
            nowhere has an empty run.
        slots : mapping of int to int
            How many calls each worker runs at once, by its number.

        Returns
        -------
        sequence of int
            For each block the number of a worker, a key of `slots`. What is chosen elsewhere than
            where a block is moves there, once, when the partition is first used.
        """
        ...


def placement_of(placement: str | Placement) -> Placement:
    """Find a policy.

    Parameters
    ----------
    placement
        The policy, or the name of its entry point in ``freestone.placements``.

    Raises
    ------
    ValueError
        When no package offers one of this name.
    TypeError
        When it is no policy.
    PluginError
        When a package offers it, and it can't be used.
    """
    if not isinstance(placement, str):
        if isinstance(placement, type) or not isinstance(placement, Placement):
            raise TypeError(
                f"placement={placement!r}: give an object with a method place(nbytes, holders, "
                "slots), or the name of an entry point in freestone.placements"
            )
        return placement
    found = load(GROUP, placement, Placement)  # type: ignore[type-abstract]
    if found is None:
        known = names(GROUP)
        raise ValueError(
            f"there is no placement policy {placement!r}; installed packages offer "
            f"{', '.join(known) or 'none'}{did_you_mean(placement, known)}"
        )
    return found


def chosen(placement: Placement, nbytes: Ints, holders: Holders, slots: Mapping[int, int]) -> Ints:
    """Return the workers that a policy chooses.

    Raises
    ------
    ValueError
        When they are not one for each block, or no workers of the cluster.
    """
    name = type(placement).__name__
    workers = np.asarray(placement.place(nbytes, holders, slots))
    if workers.shape != nbytes.shape or workers.dtype.kind not in "iu":
        raise ValueError(
            f"{name}.place() returned {workers.dtype} of shape {workers.shape} for "
            f"{len(nbytes)} blocks; return the number of a worker for each"
        )
    strange = np.flatnonzero(~np.isin(workers, np.fromiter(slots, np.int64, len(slots))))
    if len(strange):
        block = int(strange[0])
        raise ValueError(
            f"{name}.place() puts block {block} on worker {workers[block]}; there are the workers "
            f"{', '.join(map(str, sorted(slots)))}"
        )
    return workers.astype(np.int64)
