"""The same on a real cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import NotSerializableError, TaskKilledError
from tests.waiting import until

joblib = pytest.importorskip("joblib")
pytest.importorskip("freestone.compat.joblib")


def read_text(path: str) -> str:
    return Path(path).read_text()


def place() -> int:
    return os.getpid()


def total(array: np.ndarray, scale: int) -> float:
    return float(array.sum()) * scale


def test_the_executor_runs_elsewhere(cluster: fs.Cluster) -> None:
    with cluster.executor() as executor:
        assert executor.submit(place).result(30) != os.getpid()
        assert list(executor.map(pow, range(100), [2] * 100)) == [k**2 for k in range(100)]
        chunks = executor.map(pow, range(100), [2] * 100, chunksize=30)
        assert list(chunks) == [k**2 for k in range(100)]


def test_asyncio_waits_for_it(cluster: fs.Cluster) -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(executor, pow, k, 2) for k in range(5)]
        return await asyncio.gather(*calls)

    with cluster.executor() as executor:
        assert asyncio.run(main()) == [0, 1, 4, 9, 16]


def test_futures_of_the_executor_are_arguments_that_calls_wait_for(cluster: fs.Cluster) -> None:
    with cluster.executor() as executor:
        two, failing = executor.submit(pow, 2, 1), executor.submit(pow, 0, -1)
        assert executor.submit(pow, two, two).result(30) == 4
        assert executor.submit(sum, [two, two, 1]).result(30) == 5
        assert cluster.submit(pow, 3, two).result(30) == 9
        with pytest.raises(ZeroDivisionError):
            executor.submit(pow, failing, two).result(30)


def test_futures_of_other_pools_are_refused_with_what_to_pass(cluster: fs.Cluster) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(asyncio.sleep(0))
        with pytest.raises(NotSerializableError, match=r"its value, await future: only"):
            executor.submit(print, task)
        await task

    with cluster.executor() as executor:
        other: concurrent.futures.Future[int] = concurrent.futures.Future()
        for given in (other, [other], {"key": (other,)}):
            with pytest.raises(
                NotSerializableError, match=r"its value, future.result\(\): only futures"
            ):
                executor.submit(print, given)
        asyncio.run(main())


def test_cancel_ends_a_call_that_runs(two_workers: fs.Cluster) -> None:
    with two_workers.executor() as executor:
        futures = [executor.submit(time.sleep, 600) for _ in range(4)]
        executor.shutdown(wait=False, cancel_futures=True)
        assert concurrent.futures.wait(futures, timeout=30).not_done == set()
    assert two_workers.submit(pow, 2, 2).result(30) == 4


def test_a_future_is_running_while_its_call_has_a_slot(tmp_path: Path) -> None:
    with fs.Cluster(workers=1, executors=1) as cluster, cluster.executor() as executor:
        gates = [str(tmp_path / name) for name in ("first", "second")]
        for gate in gates:
            os.mkfifo(gate)
        first, second = (executor.submit(read_text, gate) for gate in gates)
        assert until(first.running)
        assert not second.running()
        Path(gates[0]).write_text("a")
        assert first.result(30) == "a"
        assert not first.running()
        assert until(second.running)
        assert second.cancel()
        assert not second.running()


def test_a_killed_call_is_an_error_of_its_future(cluster: fs.Cluster) -> None:
    with cluster.executor() as executor:
        with pytest.raises(TaskKilledError):
            executor.submit(os._exit, 3).result(60)
        assert executor.submit(pow, 2, 2).result(30) == 4


def test_joblib_runs_on_it_with_a_block_for_a_large_array(cluster: fs.Cluster) -> None:
    array = np.ones(200_000)
    with joblib.parallel_config("freestone", cluster=cluster):
        sums = joblib.Parallel()(joblib.delayed(total)(array, k) for k in range(20))
        assert sums == [k * 2e5 for k in range(20)]
        assert joblib.effective_n_jobs(-1) == cluster.slots


def test_scikit_learn_finds_the_same(cluster: fs.Cluster) -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    x, y = make_classification(1000, 50, random_state=0)
    forest = RandomForestClassifier(10, random_state=0)
    with joblib.parallel_config("freestone", cluster=cluster):
        here = cross_val_score(forest, x, y, cv=4, n_jobs=-1)
    assert (here == cross_val_score(forest, x, y, cv=4)).all()
