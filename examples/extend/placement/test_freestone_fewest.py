"""The policy passes freestone's kit, and fills one worker before the next."""

import numpy as np
from freestone_fewest import FEWEST

from freestone.partitions import Holders
from freestone.testing import check_placement


def test_the_policy_passes_the_kit() -> None:
    check_placement("fewest")


def test_the_worker_that_holds_most_is_filled_first() -> None:
    holders = Holders.from_lists([[0], [1], [1]])
    assert FEWEST.place(np.array([10, 8, 8]), holders, {0: 2, 1: 2}) == [1, 1, 0]
