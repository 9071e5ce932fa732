"""A placement policy: all blocks on as few workers as have room for a call per block."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from freestone.partitions import Holders


class Fewest:
    """Fill the workers that hold most bytes, so that the others can be given back."""

    def place(
        self, nbytes: NDArray[np.int64], holders: Holders, slots: Mapping[int, int]
    ) -> Sequence[int]:
        """Deal blocks to the workers that hold most, as many to each as it has slots."""
        held = dict.fromkeys(slots, 0)
        for block, size in enumerate(nbytes.tolist()):
            for worker in holders.of(block):
                held[worker] += size
        order = sorted(slots, key=lambda worker: (-held[worker], worker))
        slotted = [worker for worker in order for _ in range(slots[worker])] or order[:1]
        return [slotted[min(block, len(slotted) - 1)] for block in range(len(nbytes))]


FEWEST = Fewest()
