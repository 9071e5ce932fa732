"""Placement policies that are right pass the kit, and those that are wrong do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.partitions import Holders
from freestone.testing import check_placement


class Policy:
    def __init__(self, place: Callable[[Any, Holders, Mapping[int, int]], Any]) -> None:
        self.place = place


def on_last(nbytes: Any, holders: Holders, slots: Mapping[int, int]) -> list[int]:
    return [max(slots)] * len(nbytes)


def test_a_policy_passes() -> None:
    check_placement(Policy(on_last))


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (lambda nbytes, holders, slots: [99] * len(nbytes), "puts block 0 on worker 99; there are"),
        (lambda nbytes, holders, slots: [min(slots)], "returned int64 of shape .* for"),
        (lambda nbytes, holders, slots: [0.5] * len(nbytes), "returned float64 of shape"),
        (lambda nbytes, holders, slots: 1 // 0, "ZeroDivisionError"),
        (lambda *tables: slots_less_one(*tables), "changed its arguments"),
    ],
)
def test_what_is_wrong_is_found(place: Any, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_placement(Policy(place))


def slots_less_one(nbytes: Any, holders: Holders, slots: dict[int, int]) -> list[int]:
    slots.pop(min(slots))
    return on_last(nbytes, holders, slots)


def test_partitions_are_where_the_policy_says(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.arange(4_000.0), 500)
    assert len({part.worker for part in fs.split(x)}) == 2
    (part,) = fs.split(x, per="worker", placement=Policy(on_last))
    worker = part.worker
    assert (len(part), part.rows) == (8, 4_000)
    place, total = cluster.submit(where_and_sum, part).result(60)
    assert (place, total) == (worker, 7_998_000.0)


def where_and_sum(partition: Any) -> tuple[str, float]:
    return partition.worker, float(sum(block.sum() for block in partition))


@pytest.fixture
def cluster() -> Any:
    with fs.Cluster(workers=2, executors=1) as cluster:
        yield cluster


def test_a_policy_that_can_not_be_used_is_refused() -> None:
    x = fs.Array.from_numpy(np.arange(12.0), 3)
    with pytest.raises(ValueError, match="both choose workers"):
        fs.split(x, balance=True, placement=Policy(on_last))
    with pytest.raises(ValueError, match="no placement policy 'nearest'; installed packages offer"):
        fs.split(x, placement="nearest")
    with pytest.raises(TypeError, match="give an object with a method place"):
        fs.split(x, placement=3)  # type: ignore[arg-type]
