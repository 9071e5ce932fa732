"""Calls: arguments, results, names, options."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import operator
import os
import platform
import resource
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import freestone as fs
from tests.waiting import DEADLINE_S, until

from .conftest import Opened


def add(*values: int, plus: int = 0) -> int:
    return sum(values) + plus


def test_a_call_gives_its_result(cluster: fs.Cluster) -> None:
    assert cluster.submit(add, 1, 2, plus=3).result() == 6


def test_a_lambda_and_a_closure_travel(cluster: fs.Cluster) -> None:
    offset = 17
    assert cluster.submit(lambda x: x + offset, 1).result() == 18


def test_map_keeps_the_order(cluster: fs.Cluster) -> None:
    futures = cluster.map(operator.mul, range(2000), range(2000))
    assert cluster.gather(futures) == [number * number for number in range(2000)]


def test_futures_nested_anywhere_become_values(cluster: fs.Cluster) -> None:
    one, two = cluster.submit(add, 1), cluster.submit(add, 2)
    nested = cluster.submit(
        lambda tree: tree["a"][0] + tree["b"][1][0], {"a": [one], "b": (0, [two])}
    )
    assert nested.result() == 3
    assert cluster.submit(add, one, plus=two).result() == 3


def test_equal_calls_run_once(cluster: fs.Cluster) -> None:
    before = cluster.statistics()
    first = cluster.submit(add, 100, 200)
    assert first.result() == 300
    second = cluster.submit(add, 100, 200)
    assert second.result() == 300
    after = cluster.statistics()
    assert first.name == second.name
    assert (after.done - before.done, after.answered - before.answered) == (1, 1)


def test_an_impure_call_runs_each_time(cluster: fs.Cluster) -> None:
    import random

    values = [cluster.submit(random.random, pure=False).result() for _ in range(3)]
    assert len(set(values)) == 3


def test_a_changed_constant_changes_the_name(cluster: fs.Cluster) -> None:
    def with_cut(cut: int) -> fs.Future:
        return cluster.submit(lambda x: x > cut, 10)

    assert with_cut(5).name == with_cut(5).name != with_cut(6).name


def test_keep_task_goes_with_the_last_future(opened: Opened) -> None:
    # In a cluster of its own: nothing else comes or goes.
    with opened(executors=1, memory="32MiB", disk="32MiB") as cluster:
        future = cluster.submit(add, 9876, 1)
        assert future.result() == 9877
        before = cluster.statistics()
        del future
        assert until(lambda: cluster.statistics().blocks < before.blocks)
        assert cluster.submit(add, 9876, 1).result() == 9877
        after = cluster.statistics()
        assert (after.done, after.answered) == (before.done + 1, before.answered)


def test_keep_session_answers_after_the_future_is_gone(cluster: fs.Cluster) -> None:
    name = cluster.submit(add, 4321, keep="session").result()
    answered = cluster.statistics().answered
    assert cluster.submit(add, 4321, keep="session").result() == name
    assert cluster.statistics().answered == answered + 1


def test_small_and_large_values_round_trip(cluster: fs.Cluster) -> None:
    values = [None, 1, 2.5, "text", b"bytes", [1, {"a": (2,)}], np.arange(10), np.arange(10**6)]
    for value in values:
        same = cluster.submit(lambda x: x, value).result()
        np.testing.assert_equal(same, value)


def test_blocks_are_immutable_whatever_their_size(cluster: fs.Cluster) -> None:
    for size in (10, 10**6):
        array = cluster.submit(np.ones, size).result()
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0


def test_large_arrays_are_views_of_the_cache(cluster: fs.Cluster) -> None:
    block = cluster.put(np.arange(10**6))

    def owns_nothing(array: np.ndarray) -> bool:
        return not array.flags.owndata and not array.flags.writeable

    assert cluster.submit(owns_nothing, block).result()
    assert block.result().sum() == 10**6 * (10**6 - 1) // 2


def test_equal_values_put_twice_are_one_block(cluster: fs.Cluster) -> None:
    one, two = cluster.put(np.zeros(10**5)), cluster.put(np.zeros(10**5))
    assert one.name == two.name
    cluster.wait([one])
    assert cluster.who_has([one])[one.name] == ["worker-0"]


def test_a_large_argument_is_sent_once(cluster: fs.Cluster) -> None:
    table = np.arange(10**6)
    futures = [cluster.submit(lambda t, i: int(t[i]), table, i) for i in range(20)]
    assert cluster.gather(futures) == list(range(20))


def test_gather_keeps_the_shape(cluster: fs.Cluster) -> None:
    one, two = cluster.submit(add, 1), cluster.submit(add, 2)
    assert cluster.gather({"a": [one, two], "b": (one,)}) == {"a": [1, 2], "b": (1,)}
    failing = cluster.submit(operator.truediv, 1, 0)
    assert cluster.gather([one, failing, two], errors="skip") == [1, 2]


class Pair(NamedTuple):
    first: Any
    second: Any


def test_gather_takes_any_iterable(cluster: fs.Cluster) -> None:
    one, two = cluster.put(1), cluster.put(2)
    assert cluster.gather(future for future in (one, two)) == [1, 2]
    assert cluster.gather(map(cluster.put, (3, 4))) == [3, 4]
    assert cluster.gather({"a": one, "b": two}.values()) == [1, 2]
    assert cluster.gather(np.array([[one, two]], dtype=object)) == [[1, 2]]
    assert cluster.gather([Pair(one, {two})]) == [Pair(1, {2})]


@pytest.mark.parametrize("errors", ["raise", "skip"])
@pytest.mark.parametrize("value", [3, "text", [1], {"a": None}, b"", range(1)])
def test_gather_refuses_what_is_no_future(cluster: fs.Cluster, value: Any, errors: str) -> None:
    with pytest.raises(TypeError, match=r"gather\(\) takes a future"):
        cluster.gather(value, errors=errors)


def test_as_completed_and_wait(cluster: fs.Cluster) -> None:
    futures = cluster.map(add, range(50))
    assert {future.result() for future in fs.as_completed(futures)} == set(range(50))
    done, not_done = cluster.wait(futures)
    assert (len(done), len(not_done)) == (50, 0)


def test_a_wait_ends(cluster: fs.Cluster) -> None:
    slow = cluster.submit(time.sleep, 30, pure=False)
    with pytest.raises(TimeoutError):
        slow.result(timeout_s=0.05)
    with pytest.raises(TimeoutError):
        list(fs.as_completed([slow], timeout_s=0.05))
    assert cluster.wait([slow], timeout_s=0.05).not_done == {slow}
    assert slow.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        slow.result()


def test_done_callbacks_are_called_once(cluster: fs.Cluster) -> None:
    called = threading.Event()
    seen: list[fs.Future] = []

    def note(future: fs.Future) -> None:
        seen.append(future)
        called.set()

    future = cluster.submit(add, 5)
    future.add_done_callback(note)
    assert called.wait(DEADLINE_S)
    assert seen == [future]


def test_a_future_can_be_awaited(cluster: fs.Cluster) -> None:
    async def both() -> list[int]:
        return [await cluster.submit(add, 6), await cluster.submit(add, 7)]

    assert asyncio.run(both()) == [6, 7]


def test_a_task_is_a_plain_function_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.client.opened._open", {})

    @fs.task(retries=1)
    def double(x: int) -> int:
        return 2 * x

    assert double(2) == 4


def test_a_task_gives_futures_with_a_cluster(cluster: fs.Cluster) -> None:
    @fs.task
    def double(x: int) -> int:
        return 2 * x

    assert double(double(2)).result() == 8
    assert [future.result() for future in double.map(range(3))] == [0, 2, 4]
    assert double.options(pure=False)(4).result() == 8


def test_reduce(cluster: fs.Cluster) -> None:
    parts = cluster.map(add, range(100))
    assert fs.reduce(operator.add, parts).result() == 4950
    assert fs.reduce(operator.add, parts, commutes=True).result() == 4950
    texts = cluster.map(str, range(30))
    joined = fs.reduce(operator.add, texts, arity=3)
    assert joined.result() == "".join(map(str, range(30)))
    assert fs.reduce(operator.add, [cluster.submit(add, 9)]).result() == 9
    large = [cluster.submit(np.full, 10**5, i) for i in range(9)]
    assert fs.reduce(operator.add, large, arity=2).result()[0] == 36
    with pytest.raises(ValueError, match="no blocks"):
        fs.reduce(operator.add, [])


def test_the_standard_executor_interface(cluster: fs.Cluster) -> None:
    with cluster.executor() as executor:
        futures = [executor.submit(pow, 2, n) for n in range(5)]
        concurrent.futures.wait(futures)
        assert [future.result() for future in futures] == [1, 2, 4, 8, 16]
        assert list(executor.map(abs, [-1, -2])) == [1, 2]


def test_explain_says_where_it_ran(cluster: fs.Cluster) -> None:
    future = cluster.submit(add, 77)
    future.result()
    assert cluster.explain(future).stage == "done"
    assert "add" in repr(future)


def test_replay_runs_here(cluster: fs.Cluster) -> None:
    future = cluster.submit(os.getpid, pure=False)
    assert future.result() != os.getpid()
    assert future.replay() == os.getpid()


def test_two_workers_exchange_blocks(two_workers: fs.Cluster) -> None:
    parts = [two_workers.submit(np.full, 200_000, i, worker=i % 2) for i in range(4)]
    total = two_workers.submit(lambda *arrays: float(sum(a.sum() for a in arrays)), *parts)
    assert total.result() == 200_000 * 6
    assert two_workers.statistics().transfers >= 2
    assert parts[1].result()[0] == 1


def page_faults_of_calls(cluster: fs.Cluster) -> int:
    def temporaries(repeat: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [np.ones(1 << 18) for _ in range(6)]
        del arrays
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    counts = cluster.gather([cluster.submit(temporaries, repeat) for repeat in range(50)])
    return sum(counts)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's allocator")
def test_memory_that_calls_free_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = 50 * 6 * (2 << 20) // resource.getpagesize()
    for variable in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
        monkeypatch.delenv(variable, raising=False)
    with fs.Cluster(executors=1, memory="64MiB") as cluster:
        assert page_faults_of_calls(cluster) < pages / 5
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    with fs.Cluster(executors=1, memory="64MiB") as cluster:
        assert page_faults_of_calls(cluster) > pages / 2


def test_forked_calls_have_random_numbers_of_their_own(cluster: fs.Cluster) -> None:
    def draw(place: int) -> float:
        return float(np.random.rand())

    cluster.gather(cluster.map(draw, range(4), pure=False))
    drawn = cluster.gather(cluster.map(draw, range(8), isolation="fork", pure=False))
    assert len(set(drawn)) == 8


def test_a_spawned_child_sends_its_main_module(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = ModuleType("__mp_main__")
    exec(
        "class C:\n  def __init__(self, k): self.k = k\ndef f(c): return type(c)(c.k + 1)",
        vars(main),
    )
    monkeypatch.setitem(sys.modules, "__mp_main__", main)
    found = cluster.submit(main.f, main.C(3)).result()
    assert (type(found), found.k) == (main.C, 4)


def test_modules_of_folders_that_are_added_later_are_found(
    cluster: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit(abs, -1).result()
    package = tmp_path / "late_package_of_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    inner = importlib.import_module("late_package_of_test.inner")
    assert cluster.submit(inner.f, 1).result() == 2
    assert cluster.submit(lambda x: inner.f(x), 2).result() == 3
