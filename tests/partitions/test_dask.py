"""The same on plain Dask: partitions are futures, and outlive what happens to workers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import BlockingError, BlockShapeError, EmptyCollectionError

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag as db
from distributed import Client, LocalCluster, wait

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(180),
]

EXACT = 4800 * 4799 // 2


@pytest.fixture(params=[2])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    quiet = {"distributed.worker.memory.terminate": False, "distributed.admin.log-length": 0}
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=request.param, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def total(part: Any, repeat: int = 0) -> int:
    return sum(int(block.sum()) for block in part) + repeat


def sums(client: Client, parts: list[Any], repeat: int) -> int:
    calls = [client.submit(total, part, repeat) for part in parts]
    return sum(client.gather(calls)) - repeat * len(parts)


def check(client: Client, x: Any, parts: list[Any], repeat: int) -> None:
    assert sums(client, parts, repeat) == EXACT
    again = fs.split(x)
    assert sorted(index for part in again for index in part.indexes) == list(range(96))
    assert sums(client, again, repeat) == EXACT


def made(client: Client) -> Any:
    x = da.arange(4800, chunks=50).persist()
    wait(x)
    return x


def test_partitions(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    homes = client.who_has(x)
    assert len(parts) == 2
    assert all(part.nbytes == 400 * len(part) for part in parts)
    # What the scheduler weighs before it sends a partition to a worker that is idle.
    wait(parts)
    known = client.nbytes(summary=False)
    assert all(known[part.key] > part.nbytes for part in parts)
    keys = x.__dask_keys__()
    for part in parts:
        assert all(part.worker in homes[keys[index]] for index in part.indexes)
    ran = [client.submit(lambda p: (os.getpid(), p.indexes), part) for part in parts]
    pids = client.run(os.getpid)
    for part, (pid, indexes) in zip(parts, client.gather(ran), strict=True):
        assert (pids[part.worker], indexes) == (pid, part.get_indexes())
    whole = np.empty(4800, int)
    for part in parts:
        whole[part.get_item_indexes()] = part.materialize().result()
    np.testing.assert_array_equal(whole, np.arange(4800))
    assert sum(block.sum() for part in parts for block in part) == EXACT


def test_an_iteration_costs_the_same_whatever_the_number_of_blocks(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    assert sum(len(part) for part in parts) == 96
    calls = [client.submit(total, part, 1) for part in parts]
    wait(calls)
    found = client.run_on_scheduler(_dependencies, [call.key for call in calls])
    assert found == [[part.key] for part in parts]


def _dependencies(keys: list[str], dask_scheduler: Any) -> list[list[str]]:
    return [[task.key for task in dask_scheduler.tasks[key].dependencies] for key in keys]


def test_partitions_keep_the_blocks_that_nobody_else_has(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    del x
    assert sums(client, parts, 1) == EXACT
    assert sum(block.sum() for part in parts for block in part) == EXACT


def test_a_killed_worker(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    assert sums(client, parts, 0) == EXACT
    os.kill(client.run(os.getpid)[parts[0].worker], signal.SIGKILL)
    check(client, x, parts, 1)


def test_transient_replicas(client: Client) -> None:
    x = made(client)
    everywhere = client.submit(
        lambda blocks: len(blocks), list(client.futures_of(x)), workers=[min(client.nthreads())]
    )
    assert everywhere.result() == 96
    parts = fs.split(x)
    assert len(parts) == 2
    client.run_on_scheduler(_collect_replicas)
    check(client, x, parts, 1)


async def _collect_replicas(dask_scheduler: Any) -> None:
    dask_scheduler.extensions["amm"].run_once()
    await asyncio.sleep(0)


def test_a_worker_joins_and_one_is_retired(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    assert sums(client, parts, 0) == EXACT
    client.cluster.scale(3)
    client.wait_for_workers(3)
    check(client, x, parts, 1)
    client.retire_workers([parts[0].worker])
    check(client, x, parts, 2)


def test_rebalanced(client: Client) -> None:
    x = made(client)
    parts = fs.split(x)
    client.rebalance()
    check(client, x, parts, 1)
    assert sums(client, fs.split(x, balance=True), 2) == EXACT


@pytest.mark.parametrize("client", [3], indirect=True)
def test_fewer_blocks_than_cores_and_uneven_blocks(client: Client) -> None:
    x = da.from_array(np.arange(10), chunks=((7, 3),)).persist()
    parts = fs.split(x)
    assert len(parts) <= 2
    assert sum(len(run) for part in parts for run in part.item_indexes) == 10
    whole = np.empty(10, int)
    for part in parts:
        whole[part.get_item_indexes()] = part.materialize().result()
    np.testing.assert_array_equal(whole, np.arange(10))


def test_frames_bags_and_several(client: Client) -> None:
    import pandas as pd

    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": np.arange(100)}), npartitions=7).persist()
    calls = [client.submit(lambda p: sum(int(b["a"].sum()) for b in p), p) for p in fs.split(frame)]
    assert sum(client.gather(calls)) == 4950
    bag = db.from_sequence(range(100), npartitions=7).persist()
    calls = [client.submit(lambda p: sum(sum(b) for b in p), p) for p in fs.split(bag)]
    assert sum(client.gather(calls)) == 4950
    x = made(client)
    y = (x * 2).persist()
    calls = [
        client.submit(lambda p: sum(int((b - a).sum()) for a, b in p), p) for p in fs.split(x, y)
    ]
    assert sum(client.gather(calls)) == EXACT


def test_refusals(client: Client) -> None:
    with pytest.raises(ValueError, match=r"not persisted.*call persist\(\) first"):
        fs.split(da.ones(10, chunks=5))
    with pytest.raises(BlockShapeError, match="a block of whole rows"):
        fs.split(da.ones((10, 4), chunks=(5, 2)).persist())
    with pytest.raises(BlockingError, match=r"'ones.*cut differently: 2 blocks of 10 rows"):
        fs.split(da.ones(10, chunks=5).persist(), da.ones(10, chunks=4).persist())
    with pytest.raises(TypeError, match=r"Dask.s alone, not what is numpy\.ndarray"):
        fs.split(da.ones(10, chunks=5).persist(), np.ones(10))
    with pytest.raises(EmptyCollectionError, match="can't split 'nothing'"):
        fs.split(db.Bag({}, "nothing", 0))
    with pytest.raises(ValueError, match="per='node'"):
        fs.split(da.ones(10, chunks=5).persist(), per="node")


def test_a_block_that_raises_is_named(client: Client) -> None:
    def block(values: Any, block_info: Any = None) -> Any:
        if block_info[0]["chunk-location"][0] == 2:
            raise ArithmeticError("no such block")
        return values

    x = da.ones(10, chunks=2).map_blocks(block, dtype=float, meta=np.empty(0)).persist()
    with pytest.raises(ArithmeticError, match="no such block") as caught:
        fs.split(x)
    assert any("while making block 2 of 'block" in note for note in caught.value.__notes__)
