"""Task graphs on a simulated cluster: what runs again, what never comes, and equal seeds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pytest

from freestone.testing import simulate

PARTS = [f"part-{number}" for number in range(8)]
TASKS: Mapping[Hashable, list[str]] = {"sum": PARTS, **{part: [] for part in PARTS}}


def test_every_task_runs_once_where_nothing_goes_wrong() -> None:
    run = simulate(TASKS, workers=4)
    assert run.is_complete
    assert run.counts() == dict.fromkeys(TASKS, 1)
    assert {call.end for call in run.calls} == {"done"}
    assert (run.calls[-1].task, run.lost) == ("sum", ())
    # Two rounds of parts, and the sum; messages and transfers take milliseconds.
    assert 3 < run.makespan_s < 3.2


def test_what_a_lost_worker_held_is_made_again() -> None:
    run = simulate(TASKS, workers=4, kills=[(1.5, 2)], replaced_after_s=None)
    assert run.is_complete
    ran_there = {call.task for call in run.calls if call.worker == 2}
    again = {task for task, count in run.counts().items() if count == 2}
    assert len(ran_there) == 2
    assert again == ran_there
    cut = [call for call in run.calls if call.end == "cut"]
    assert [(call.worker, call.task in again) for call in cut] == [(2, True)]
    assert run.workers_of(cut[0].task)[0] == 2
    assert run.lost == ((1.5, 2),)


def test_results_that_never_come_are_reported() -> None:
    run = simulate(TASKS, workers=2, kills=[(0.5, 0), (0.6, 1)], replaced_after_s=None)
    assert not run.is_complete
    assert run.failures == {"sum": "nothing was heard of it"}
    assert {call.end for call in run.calls} == {"cut"}
    assert simulate(TASKS, workers=2, kills=2, replaced_after_s=1.0).is_complete


def test_calls_that_raise_are_tried_again() -> None:
    run = simulate({"a": []}, raising=1.0, retries=2)
    assert run.failures == {"a": "it raised"}
    assert [call.end for call in run.calls] == ["failed"] * 3


def test_a_call_that_always_kills_its_executor_is_given_up() -> None:
    run = simulate({"a": []}, crashes=1.0)
    assert run.failures == {"a": f"it killed {len(run.calls)} executors"}


def test_equal_seeds_give_equal_runs() -> None:
    faults: dict[str, Any] = {"kills": 2, "slow": 0.2, "broken_transfers": 0.1, "raising": 0.05}
    runs = [simulate(TASKS, seed=seed, retries=5, **faults) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("seed", range(20))
def test_results_come_whatever_is_lost(seed: int) -> None:
    run = simulate(TASKS, seed=seed, kills=3, slow=0.1, broken_transfers=0.2)
    assert run.is_complete
    assert len(run.lost) == 3


def test_durations_sizes_and_wanted_tasks_are_as_given() -> None:
    run = simulate(
        {"a": [], "b": ["a"], "c": ["a"]}, ["b"], duration_s={"a": 5, "b": 0.5}, nbytes={"a": 8}
    )
    spans = {call.task: round(call.end_s - call.start_s, 6) for call in run.calls}
    assert (spans["a"], spans["b"]) == (5, 0.5)
    assert 5.5 < run.makespan_s < 5.6


def test_a_graph_of_dask_is_simulated() -> None:
    da = pytest.importorskip("dask.array")
    x = da.ones((400, 400), chunks=(100, 100)).sum()
    tasks = x.__dask_graph__().get_all_dependencies()
    run = simulate(tasks, workers=4, kills=2, seed=1)
    assert run.is_complete
    assert set(run.counts()) == set(tasks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers=0; give a number from 1 to inf"),
        ({"kills": 5}, "kills=5; of 4 workers from 0 to 4 can be lost"),
        ({"kills": [(1, 4)]}, "workers have numbers from 0 to 3"),
        ({"raising": 1.5}, "raising=1.5; give a number from 0 to 1"),
        ({"delays_s": (2, 1)}, "shortest_delay_s=2; give a number from 0 to 1"),
        ({"duration_s": -1}, "is negative"),
    ],
)
def test_arguments_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate({"a": []}, **options)


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="in a circle: "):
        simulate({"a": ["b"], "b": ["a"]})


@pytest.mark.parametrize(
    ("tasks", "options"),
    [({"a": ["x"]}, {}), ({"a": []}, {"wanted": ["x"]}), ({"a": []}, {"nbytes": {"x": 1}})],
)
def test_tasks_that_are_not_there_are_named(tasks: Any, options: Any) -> None:
    with pytest.raises(KeyError, match=r"'x'.*not among the tasks"):
        simulate(tasks, **options)
