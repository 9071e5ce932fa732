"""What placement policies have to do."""

from __future__ import annotations

import numpy as np

from freestone.cluster import Cluster
from freestone.collections import Array
from freestone.partitions import Holders, Placement, split
from freestone.partitions.placement import chosen, placement_of
from freestone.testing.expecting import expect, expecting_no_error

__all__ = ["check_placement"]

CASES = 200


def check_placement(placement: str | Placement, *, seed: int = 7) -> None:
    """Check a placement policy: it gives every block a worker, and splits give what they should.

    Parameters
    ----------
    placement
        The policy, or the name of its entry point in ``freestone.placements``.
    seed
        That of the random tables.

    Raises
    ------
    AssertionError
        If a block gets no worker of the table, the tables are changed, or a split loses blocks; it
        names the table, by number and seed.

    Notes
    -----
    It is asked about 200 random tables: up to 40 blocks, empty ones among them, that are held by
    none, one or several of up to five workers, some of which have no executor. Then an array is
    split with it on a cluster of two workers, which is opened for the check.
    """
    with expecting_no_error(f"the placement policy {placement!r}"):
        policy = placement_of(placement)
    random = np.random.default_rng(seed)
    for case in range(CASES):
        _check_table(policy, random, f"table {case} of seed {seed}")
    with expecting_no_error("a split on a cluster"):
        _check_cluster(policy)


def _check_table(policy: Placement, random: np.random.Generator, what: str) -> None:
    slots = {int(number): int(random.integers(0, 4)) for number in random.permutation(5)[:3]}
    slots[int(random.integers(5, 9))] = 2
    nbytes = random.integers(0, 1_000, random.integers(1, 41)) * random.integers(0, 2)
    numbers = sorted(slots)
    held = [random.permutation(numbers)[: random.integers(0, 3)].tolist() for _ in nbytes]
    tables = (nbytes.copy(), Holders.from_lists(held), dict(slots))
    with expecting_no_error(f"{what}: {len(nbytes)} blocks held by {held}, slots {slots}"):
        chosen(policy, *tables)
    same = np.array_equal(tables[0], nbytes) and tables[2] == slots
    expect(same, f"{what}: place() changed its arguments")


def _check_cluster(policy: Placement) -> None:
    values = np.arange(4_000.0)
    with Cluster(workers=2, executors=1) as cluster:
        array = Array.from_numpy(values, 250)
        partitions = split(array, placement=policy)
        sums = [cluster.submit(_sum, partition) for partition in partitions]
        total = sum(future.result(60) for future in sums)
    rows = sum(partition.rows for partition in partitions)
    expect(rows == len(values), f"partitions have {rows} rows of {len(values)}")
    expect(total == values.sum(), f"the sum over partitions is {total}, not {values.sum()}")


def _sum(partition: list[np.ndarray]) -> float:
    return float(sum(block.sum() for block in partition))
