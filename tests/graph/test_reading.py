"""Graphs in numbers: culled, in depth-first order, without aliases."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from freestone.errors import CycleError
from freestone.graph.grouping import Limits, group
from freestone.graph.reading import read


def test_what_is_not_needed_is_left_out() -> None:
    graph = {"a": 1, "b": (abs, "a"), "unused": (abs, "b"), "c": (operator.add, "b", "a")}
    found = read(graph, ["c"])
    assert found.keys == ["a", "b", "c"]
    assert found.needs == [[], [0], [0, 1]]
    assert found.users == [2, 1, 1]
    assert found.wanted == {"c": 2}


def test_an_alias_is_what_it_stands_for() -> None:
    graph = {"a": (abs, 1), "b": "a", "c": "b", "d": (operator.add, "b", "c")}
    found = read(graph, ["c", "d"])
    assert found.keys == ["a", "d"]
    assert found.wanted == {"c": 0, "d": 1}
    assert found.needs == [[], [0]]


def test_chains_stay_together() -> None:
    graph: dict[str, Any] = {}
    for i in range(3):
        graph |= {f"a{i}": (abs, i), f"b{i}": (abs, f"a{i}")}
    graph["sum"] = (sum, ["b0", "b1", "b2"])
    assert read(graph, ["sum"]).keys == ["a0", "b0", "a1", "b1", "a2", "b2", "sum"]


def test_a_cycle_behind_a_chain_is_found() -> None:
    graph = {"x": (abs, "y"), "y": (operator.add, "z", "w"), "w": 1, "z": (abs, "y")}
    with pytest.raises(CycleError) as caught:
        read(graph, ["x"])
    assert sorted(caught.value.cycle) == ["y", "z"]


@st.composite
def shapes(draw: st.DrawFn) -> list[list[int]]:
    """Needs of nodes, each of smaller numbers."""
    needs: list[list[int]] = []
    for node in range(draw(st.integers(1, 60))):
        before = st.integers(0, node - 1)
        needs.append(sorted(draw(st.sets(before, max_size=4))) if node else [])
    return needs


# How fast inputs are drawn is a matter of how busy the machine is.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    needs=shapes(),
    seconds=st.floats(1e-6, 1.0),
    total=st.floats(1e-3, 100.0),
    chains_only=st.booleans(),
    apart=st.integers(0, 5),
    free=st.integers(0, 5),
)
def test_groups_can_run_in_their_order(
    needs: list[list[int]], seconds: float, total: float, chains_only: bool, apart: int, free: int
) -> None:
    users = [1] * len(needs)
    for found in needs:
        for need in found:
            users[need] += 1
    limits = Limits.of(total, slots=2, chains_only=chains_only)
    groups = group(needs, users, [seconds] * len(needs), limits, apart, free=free)
    order = [task for one in groups for task in one.tasks]
    assert sorted(order) == list(range(len(needs)))
    done = set(range(free))
    for one in groups:
        for task in one.tasks:
            assert set(needs[task]) <= done | set(one.tasks[: one.tasks.index(task)])
        done |= set(one.tasks)
        if chains_only and not free:
            assert all(needs[task] == [before] for before, task in pairwise(one.tasks))


def test_tasks_that_wait_for_the_same_share_a_call() -> None:
    """Two long tasks, and tasks that need both and a block: as anomalies from monthly means."""
    needs = [[], [], *([0, 1] for _ in range(30))]
    users = [30, 30] + [1] * 30
    seconds = [1.0, 1.0] + [1 / 1024] * 30
    groups = group(needs, users, seconds, Limits(20 / 1024, 20 / 1024))
    assert sorted(len(one.tasks) for one in groups) == [1, 1, 10, 20]


def test_what_waits_for_one_group_and_for_its_needs_joins_it() -> None:
    """A mean, and for each block a difference, a mask of the two, the sum of the three."""
    needs: list[list[int]] = [[], [], [], [0, 1]]
    for block in (0, 1):
        first = len(needs)
        needs += [[block, 3], [first, 3], [first, first + 1, block]]
    users = [sum(node in found for found in needs) for node in range(len(needs))]
    groups = group(needs, users, [0.001] * len(needs), Limits(0.02, 0.02), apart=3, free=3)
    assert [one.tasks for one in groups if one.tasks[0] >= 3] == [[*range(3, len(needs))]]


def test_no_group_gets_more_than_half_of_a_slots_share_of_what_is_equally_deep() -> None:
    """A mean of short parts, and for each block a difference that needs it and a block."""
    needs: list[list[int]] = [[], [], [], [], [0, 1, 2, 3], *([4] for _ in range(8))]
    users = [sum(node in found for found in needs) for node in range(len(needs))]
    seconds = [0.002] * 4 + [0.0001] + [0.004] * 8
    groups = group(needs, users, seconds, Limits(1.0, 1.0, slots=2))
    assert max(sum(task > 4 for task in one.tasks) for one in groups) == 2
