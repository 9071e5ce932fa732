from __future__ import annotations

import operator

import pytest
from dask._task_spec import DataNode, Task, TaskRef

from freestone.graph.durations import UNKNOWN_S, Durations, Kinds, size_of
from freestone.graph.grouping import Limits, group

FILE = ["read", "select", "weigh", "measure", "fill"]
"""What is done with each file; the second and the third task need the first, and so on."""


def test_a_shorter_duration_counts_at_once_and_a_longer_one_bit_by_bit() -> None:
    durations = Durations()
    assert durations.of("read") == UNKNOWN_S
    for seconds in (8.0, 1.0, 2.0):
        durations.add("read", seconds)
    assert durations.of("read") == pytest.approx(1.3)


def test_a_call_that_has_not_ended_is_shared_out_among_its_tasks() -> None:
    durations = Durations()
    durations.add("read", 0.01)
    durations.at_least([(kind, 0) for kind in FILE], 0.5)
    assert [durations.of(kind) for kind in FILE] == [0.01, 0.1, 0.1, 0.1, 0.1]


def test_tasks_of_one_file_share_a_call_while_the_first_still_imports() -> None:
    durations, files = Durations(), 40
    durations.at_least([(kind, 0) for kind in FILE], 0.3)
    needs = [
        [first + place for place in places]
        for first in range(0, files * len(FILE), len(FILE))
        for places in ([], [0], [0], [1, 2], [3])
    ]
    users = [2, 1, 1, 1, 1] * files
    seconds = [durations.of(kind) for kind in FILE] * files
    groups = group(needs, users, seconds, Limits.of(sum(seconds), slots=4))
    assert [len(one.tasks) for one in groups] == [len(FILE)] * files


def test_what_is_known_of_smaller_blocks_is_scaled_up_and_never_down() -> None:
    durations = Durations()
    durations.add("read", 0.01, size_of([1000, 1000]))
    durations.add("read", 0.3, size_of([8000]))
    found = {nbytes: durations.of("read", size_of([nbytes])) for nbytes in (100, 1000, 2000, 32000)}
    assert found == {100: 0.01, 1000: 0.01, 2000: 0.02, 32000: 1.2}
    assert durations.of("read", size_of([None])) == 0.01
    assert durations.of("write", size_of([1000])) == UNKNOWN_S


def test_what_slices_take_says_little_of_what_whole_blocks_take() -> None:
    durations, blocks = Durations(), [10_000] * 20
    durations.add("mean", 0.0002, size_of(blocks, tasks=640))
    assert durations.of("mean", size_of(blocks, tasks=20)) == 0.0002 * 32
    assert size_of(blocks, tasks=5) == size_of(blocks)


def test_a_fused_task_does_what_the_tasks_inside_do() -> None:
    def task(key: str) -> Task:
        return Task(key, operator.neg, TaskRef("x"))

    fused = Task.fuse(task("neg-1"), Task("abs-2", abs, TaskRef("neg-1")))
    kinds = Kinds()
    assert sorted(kinds.within("fused-3", fused)) == ["abs", "neg"]
    assert kinds.within("neg-4", task("neg-4")) == ("neg",)
    assert kinds.within("x", DataNode("x", 3)) == ()


def test_what_waits_for_a_short_branch_as_well_shares_the_call_of_the_longer_one() -> None:
    # Four blocks are combined, and a fifth by itself; then both.
    needs = [[], [], [], [], [0, 1, 2, 3], [], [5], [4, 6]]
    seconds = [0.003] * 4 + [0.0001, 0.003, 0.0001, 0.0001]
    groups = group(needs, [1] * 8, seconds, Limits(0.004, 0.004, slots=2))
    assert sorted(one.tasks for one in groups)[-1] == [5, 6]
    assert [4, 7] in [one.tasks for one in groups]


def test_those_that_wait_for_one_value_do_not_wait_for_one_of_them_unless_it_is_short() -> None:
    needs = [[], [0], [0], [0], [0]]
    users = [4, 1, 1, 1, 1]
    limits = Limits(0.002, 0.01, slots=2)
    long = group(needs, users, [0.0001, *[0.002] * 4], limits)
    short = group(needs, users, [0.0001, *[0.0004] * 4], limits)
    assert [one.tasks for one in long] == [[0], [1], [2], [3], [4]]
    assert short[0].tasks == [0, 1, 2]


def _reduced(n: int) -> list[list[int]]:
    """Give what each needs of a task for each of `n` blocks, and one for each four of them."""
    needs: list[list[int]] = []
    for _ in range(n // 4):
        first = len(needs)
        needs += [[], [], [], [], [*range(first, first + 4)]]
    return needs


def test_all_that_only_one_task_needs_shares_its_call_while_others_have_as_much_to_do() -> None:
    needs = _reduced(20)
    seconds = [0.0001 if found else 0.01 for found in needs]
    limits = Limits.of(sum(seconds), slots=2)
    groups = [one.tasks for one in group(needs, [1] * len(needs), seconds, limits)]
    # What is left of four blocks is cut finer, so that both slots end at the same time.
    assert sorted(map(len, groups)) == [1, 1, 1, 2, 5, 5, 5, 5]
    limits = Limits.of(sum(seconds), slots=20)
    assert max(len(one.tasks) for one in group(needs, [1] * len(needs), seconds, limits)) == 1


def test_what_comes_last_of_a_step_is_not_put_into_one_call() -> None:
    needs, users = [[] for _ in range(12)], [1] * 12
    groups = group(needs, users, [0.005] * 12, Limits(0.02, 0.02, slots=2))
    sizes = [len(one.tasks) for one in groups]
    assert sum(sizes) == 12
    assert sizes[-1] == sizes[-2] == 1 < max(sizes)
