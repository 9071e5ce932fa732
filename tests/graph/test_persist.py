"""Persisted collections: their blocks stay on the workers, and their graphs hold futures."""

from __future__ import annotations

import gc
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from dask.core import flatten

import freestone as fs
from freestone.client.future import Future
from freestone.collections.held import held_in
from freestone.errors import ClosedError
from freestone.graph.reading import specs_of
from tests.fetching import noting
from tests.waiting import until

WAYS = {
    "cluster.persist": lambda cluster, x: cluster.persist(x),
    "x.persist": lambda cluster, x: x.persist(scheduler=cluster.get),
    "dask.persist": lambda cluster, x: dask.persist(x, scheduler=cluster.get)[0],
}


@pytest.fixture(params=WAYS)
def persist(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return WAYS[request.param]


def blocks_of(collection: Any) -> list[Any]:
    """Give what each block of a collection is in its graph, behind the aliases of its keys."""
    specs = specs_of(collection.__dask_graph__())
    blocks = []
    for key in flatten(collection.__dask_keys__()):
        node = specs[key]
        while hasattr(node, "target"):
            node = specs[node.target]
        blocks.append(held_in(node))
    return blocks


def numbers() -> Any:
    """Give 8 blocks of 4 MB."""
    return da.arange(8 * 500_000, chunks=500_000, dtype=float)


def test_every_kind(cluster: fs.Cluster, persist: Callable[..., Any]) -> None:
    table = pd.DataFrame({"key": np.arange(60) % 7, "value": np.arange(60.0)})
    array = persist(cluster, da.ones((20, 30), chunks=(7, 11)) * 2)
    frame = persist(cluster, dd.from_pandas(table, npartitions=4))
    bag = persist(cluster, db.range(100, npartitions=9).map(operator.neg))
    value = persist(cluster, dask.delayed(sum)([1, 2, 3]))
    for collection in (array, frame, bag, value):
        blocks = blocks_of(collection)
        assert blocks
        assert all(type(block) is Future for block in blocks)
    get = cluster.get
    assert array.chunks == ((7, 7, 6), (11, 11, 8))
    np.testing.assert_array_equal((array.T + 1).compute(scheduler=get), np.full((30, 20), 3.0))
    expected = table.groupby("key").value.sum()
    found = frame.groupby("key").value.sum().compute(scheduler=get).sort_index()
    pd.testing.assert_series_equal(found, expected)
    assert bag.sum().compute(scheduler=get) == -4950
    assert (value + 1).compute(scheduler=get) == 7


def test_no_block_goes_through_the_program(
    two_workers: fs.Cluster, persist: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    before = two_workers.statistics()
    with monkeypatch.context() as patched:
        patched.setattr(Future, "_value", noting(fetched))
        x = persist(two_workers, numbers())
        y = persist(two_workers, (x + 1) * 2)
        last = y[-1].compute(scheduler=two_workers.get)
    after = two_workers.statistics()
    # How long calls took, and the number.
    assert sum(fetched) < 10_000
    assert after.inline_nbytes - before.inline_nbytes < 10_000
    assert all(block.nbytes > 4_000_000 for block in [*blocks_of(x), *blocks_of(y)])
    assert last == 8_000_000


def test_what_is_persisted_runs_once(cluster: fs.Cluster, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def noted(number: int) -> int:
        with ran.open("a") as file:
            file.write(f"{number}\n")
        return number

    bag = cluster.persist(db.range(12, npartitions=3).map(noted))
    assert bag.sum().compute(scheduler=cluster.get) == 66
    assert bag.max().compute(scheduler=cluster.get) == 11
    assert sorted(map(int, ran.read_text().split())) == list(range(12))


def test_several_share_what_they_need(cluster: fs.Cluster, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    @dask.delayed
    def noted() -> int:
        with ran.open("a") as file:
            file.write("ran\n")
        return 5

    value = noted()
    (one, other), rest = cluster.persist([value + 1, value + 2], {"more": value + 3})
    found = dask.compute(one, other, rest["more"], scheduler=cluster.get)
    assert (found, ran.read_text()) == ((6, 7, 8), "ran\n")


def test_blocks_go_with_the_collection() -> None:
    with fs.Cluster(executors=1, memory="64MiB") as cluster:
        x = cluster.persist(da.arange(40_000, chunks=10_000))
        y = x + 1
        del x
        gc.collect()
        assert y.sum().compute(scheduler=cluster.get) == 40_000 * 40_001 // 2
        assert cluster.statistics().blocks >= 4
        del y
        gc.collect()
        assert until(lambda: cluster.statistics().blocks == 0)


def test_many_blocks_are_reduced_by_a_tree(cluster: fs.Cluster) -> None:
    parts = cluster.persist([dask.delayed(operator.mul)(i, i) for i in range(40)])
    assert dask.delayed(sum)(parts).compute(scheduler=cluster.get) == sum(i * i for i in range(40))
    whole = dask.delayed(sum)([*parts[:20], *(part + 1 for part in parts[20:])])
    assert whole.compute(scheduler=cluster.get) == sum(i * i for i in range(40)) + 20


@pytest.mark.parametrize(
    "options", [{"retain": False}, {"fuse": False}, {"tree": False}, {"keep": "session"}], ids=str
)
def test_every_switch_takes_them(cluster: fs.Cluster, options: dict[str, Any]) -> None:
    x = cluster.persist(da.arange(1000, chunks=20))
    found = ((x + 1).sum() + x.max()).compute(scheduler=cluster.get, **options)
    assert found == 1000 * 1001 // 2 + 999


def test_persisted_again_is_the_same_blocks(cluster: fs.Cluster) -> None:
    x = cluster.persist(da.arange(30, chunks=10))
    again = cluster.persist(x)
    assert [block.name for block in blocks_of(again)] == [block.name for block in blocks_of(x)]


def test_nested_in_arguments(cluster: fs.Cluster) -> None:
    x = cluster.persist(dask.delayed(list)(range(4)))

    @dask.delayed
    def total(given: dict[str, Any]) -> int:
        return sum(given["deep"][0])

    assert total({"deep": [x]}).compute(scheduler=cluster.get) == 6


def test_on_another_scheduler_blocks_are_fetched(cluster: fs.Cluster) -> None:
    x = cluster.persist(da.arange(30, chunks=10))
    assert x.sum().compute(scheduler="threads") == 435
    with fs.Cluster(executors=1, memory="64MiB") as other:
        assert (x + 1).sum().compute(scheduler=other.get) == 465


def test_in_another_process_the_value_goes_along(cluster: fs.Cluster) -> None:
    x = cluster.persist(dask.delayed(list)("ab"))
    (node,) = specs_of(x.__dask_graph__()).values()
    assert node.result() == ["a", "b"]
    assert pickle.loads(pickle.dumps(node))() == ["a", "b"]


def test_after_the_cluster_is_closed() -> None:
    with fs.Cluster(executors=1, memory="64MiB") as cluster:
        x = cluster.persist(da.arange(40_000, chunks=10_000))
    with pytest.raises(ClosedError):
        x.sum().compute(scheduler=cluster.get)
    with pytest.raises(ClosedError):
        x.sum().compute(scheduler="sync")


def test_tomorrows_program_finds_them(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    ran.touch()

    def block(number: int) -> int:
        with ran.open("a") as file:
            file.write(f"{number}\n")
        return number

    for _ in range(2):
        with fs.Cluster(executors=1, memory="64MiB", cache=str(tmp_path / "cache")) as cluster:
            parts = [dask.delayed(block, pure=True)(i) for i in range(3)]
            parts = cluster.persist(parts, keep="forever")
            assert dask.delayed(sum)(parts).compute(scheduler=cluster.get) == 3
    assert sorted(ran.read_text().split()) == ["0", "1", "2"]


def test_an_error_is_raised_at_once(cluster: fs.Cluster, persist: Callable[..., Any]) -> None:
    failing = da.ones(10, chunks=5).map_blocks(lambda block: block / "x", dtype=float)
    with pytest.raises(TypeError, match="not supported for the input types") as caught:
        persist(cluster, failing)
    assert any("in Dask task" in note for note in caught.value.__notes__)


def test_callbacks_see_the_tasks_and_no_blocks(cluster: fs.Cluster) -> None:
    x = cluster.persist(da.arange(30, chunks=10))
    seen: list[Any] = []
    left: list[Any] = []
    with Callback(
        posttask=lambda key, value, *_: seen.append((key, value)),
        finish=lambda _, state, errored: left.extend(state["running"]),
    ):
        y = cluster.persist(x + 1)
    assert not left
    assert len(seen) == len(blocks_of(y)) == 3
    assert all(value is None for _, value in seen)


def test_what_is_no_collection_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match="there is none in int, Array"):
        cluster.persist(5, fs.Array.from_numpy(np.arange(4), 2))


def test_arrays_that_come_by_the_program_are_in_the_graph_as_such(cluster: fs.Cluster) -> None:
    x = da.ones((3, 3), chunks=(3, 1))
    with dask.config.set(scheduler=cluster.get):
        stored = x.store(np.zeros((3, 3)), return_stored=True)
        again = stored.persist()
    blocks = [again.dask[key] for key in flatten(again.__dask_keys__())]
    assert [getattr(block, "shape", None) for block in blocks] == [(3, 1)] * 3
    np.testing.assert_array_equal(again.compute(scheduler=cluster.get), np.ones((3, 3)))
