"""Tasks that submit tasks: they take nothing while they wait, and what they made goes with them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import _native, errors
from tests.waiting import until

from .conftest import Opened


@pytest.fixture(scope="module")
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    """One worker with one executor, so that a task that waits and keeps its slot stalls."""
    with opened(executors=1, memory="128MiB", disk="256MiB") as cluster:
        yield cluster


def here() -> fs.Cluster:
    cluster = fs.current()
    assert cluster is not None
    return cluster


def add(x: int, y: int) -> int:
    return x + y


def deep(depth: int) -> int:
    return 0 if depth == 0 else 1 + here().submit(deep, depth - 1).result()


def fibonacci(n: int) -> int:
    if n < 2:
        return n
    parts = here().map(fibonacci, [n - 1, n - 2], pure=False)
    return sum(here().gather(parts))


def test_no_depth_of_nesting_stalls(cluster: fs.Cluster) -> None:
    assert cluster.submit(deep, 12).result() == 12
    # Where all executors that stood in are still there, or some have ended.
    assert cluster.submit(deep, 8, pure=False).result() == 8


def level() -> int | None:
    return _native.executor.priority()


def test_tasks_of_a_task_come_before_others_of_its_priority(cluster: fs.Cluster) -> None:
    """So that few tasks wait at a time."""

    def levels() -> list[int | None]:
        plain, given = (
            here().submit(level, pure=False),
            here().submit(level, priority=-9, pure=False),
        )
        return here().gather([plain, given])

    assert cluster.submit(levels).result() == [1, -8]
    assert cluster.submit(levels, priority=3, pure=False).result() == [4, -5]


def test_many_parents_wait_for_their_children(cluster: fs.Cluster) -> None:
    futures = cluster.map(fibonacci, [4] * 30, pure=False)
    assert cluster.gather(futures) == [3] * 30


def test_a_task_has_all_that_a_program_has(cluster: fs.Cluster) -> None:
    def much() -> tuple[object, ...]:
        cluster = here()
        squares = cluster.map(pow, range(10), [2] * 10)
        total = fs.reduce(add, squares, commutes=True)
        block = cluster.put(np.arange(100_000))
        summed = cluster.submit(np.sum, block)
        doubled = cluster.submit(np.multiply, block, 2).result()
        first = sorted(future.result() for future in fs.as_completed(squares))
        return total.result(), int(summed.result()), int(doubled[-1]), first[-1]

    assert cluster.submit(much).result() == (285, 4999950000, 199998, 81)


def test_collections_of_dask_are_computed_in_a_task(cluster: fs.Cluster) -> None:
    def computed() -> int:
        import dask.array as da

        return int((da.arange(1000, chunks=100) ** 2).sum().compute(scheduler=here().get))

    assert cluster.submit(computed).result() == 332833500


@fs.task
def double(x: int) -> int:
    return 2 * x


@fs.task
def quadruple(x: int) -> int:
    return double(double(x)).result()


def test_a_decorated_function_is_a_task_in_a_task(cluster: fs.Cluster) -> None:
    assert quadruple(5).result() == 20
    # What is mapped by the runtime itself is the function.
    assert cluster.gather(cluster.map(double, range(3))) == [0, 2, 4]


def test_threads_of_a_task_wait(cluster: fs.Cluster) -> None:
    def threaded() -> list[int]:
        from concurrent.futures import ThreadPoolExecutor

        def one(x: int) -> int:
            return here().submit(add, x, 1).result()

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(one, range(8)))

    assert cluster.submit(threaded).result() == list(range(1, 9))


def test_a_task_awaits(cluster: fs.Cluster) -> None:
    def main() -> list[int]:
        async def both() -> list[int]:
            return list(await asyncio.gather(*here().map(add, [1, 2], [3, 4])))

        return asyncio.run(both())

    assert cluster.submit(main).result() == [4, 6]


@pytest.mark.parametrize("resources", [{"cores": 1, "memory": "400MiB"}, {"disk": "200MiB"}])
def test_what_a_task_takes_is_free_while_it_waits(
    cluster: fs.Cluster, resources: dict[str, int | str]
) -> None:
    def parent() -> int:
        return here().submit(add, 1, 1, resources=resources).result()

    assert cluster.submit(parent, resources=resources).result() == 2


def test_a_call_in_a_child_of_its_own_submits(cluster: fs.Cluster) -> None:
    assert cluster.submit(deep, 2, isolation="fork", pure=False).result() == 2
    with pytest.raises(errors.UsageError, match="isolation='process' can't submit"):
        cluster.submit(deep, 2, isolation="process", pure=False).result()


def test_what_a_task_waits_for_may_fail(cluster: fs.Cluster) -> None:
    def parent() -> str:
        try:
            here().submit(lambda: 1 // 0).result()
        except ZeroDivisionError as error:
            return str(error)
        return "no error"

    assert "division" in cluster.submit(parent).result()
    with pytest.raises(ZeroDivisionError):
        cluster.submit(lambda: here().submit(lambda: 1 // 0).result()).result()


def deep_failure(depth: int) -> object:
    if depth == 0:
        raise ValueError("at the bottom")
    return here().submit(deep_failure, depth - 1).result()


def test_a_failure_that_comes_through_many_tasks_has_the_traceback_of_each_once(
    cluster: fs.Cluster,
) -> None:
    with pytest.raises(ValueError, match="at the bottom") as caught:
        cluster.submit(deep_failure, 6).result()
    notes = caught.value.__notes__
    assert len(notes) == 14
    assert [note.count("at the bottom") for note in notes] == [0, 2] + [0, 1] * 6


def wait_and_mark(gate: str, mark: str) -> int:
    Path(gate + mark).touch()
    while not os.path.exists(gate):
        time.sleep(0.005)
    return 1


def parent_of_two(gate: str) -> int:
    running = here().submit(wait_and_mark, gate, "-running", pure=False)
    queued = here().submit(add, running, 1)
    Path(gate + "-submitted").touch()
    return queued.result()


def test_a_cancelled_task_cancels_what_it_submitted(cluster: fs.Cluster, tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    parent = cluster.submit(parent_of_two, gate, pure=False)
    assert until(lambda: os.path.exists(gate + "-running"))
    assert until(lambda: os.path.exists(gate + "-submitted"))
    assert parent.cancel()
    assert until(lambda: cluster.statistics().pending == 0)
    assert cluster.submit(add, 20, 1).result() == 21


def test_a_child_of_another_program_too_goes_on(cluster: fs.Cluster, tmp_path: Path) -> None:
    """What somebody else needs is not cancelled with the task."""
    gate = str(tmp_path / "gate")

    def parent(gate: str) -> int:
        return here().submit(wait_and_mark, gate, "-shared").result()

    ours = cluster.submit(wait_and_mark, gate, "-shared")
    waits = cluster.submit(parent, gate, pure=False)
    assert until(lambda: os.path.exists(gate + "-shared"))
    waits.cancel()
    Path(gate).touch()
    assert ours.result() == 1


def test_a_task_whose_executor_dies_begins_again(cluster: fs.Cluster, tmp_path: Path) -> None:
    def once(folder: str) -> int:
        first = not os.path.exists(folder + "/tried")
        Path(folder, "tried").touch()
        child = here().submit(add, 3, 4)
        if first:
            child.result()
            os._exit(9)
        return child.result()

    assert cluster.submit(once, str(tmp_path)).result() == 7


def test_calls_that_were_sent_behind_a_task_do_not_wait_for_it(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    """A task waits for one that was sent to its executor behind it."""
    path = str(tmp_path / "now")

    def quick(k: int, path: str) -> int:
        # All are alike and short, so that many are sent at once; one of them waits for the last.
        if k == 20:
            return here().submit(quick, 399, path).result()
        return k

    futures = cluster.map(quick, range(400), [path] * 400)
    assert cluster.gather(futures) == [k if k != 20 else 399 for k in range(400)]


def test_a_task_can_be_timed_out_while_it_waits(cluster: fs.Cluster, tmp_path: Path) -> None:
    gate = str(tmp_path / "never")

    def parent(gate: str) -> int:
        return here().submit(wait_and_mark, gate, "-child").result()

    with pytest.raises(errors.TaskTimeoutError):
        cluster.submit(parent, gate, timeout_s=0.5, retries=0).result()
    assert until(lambda: cluster.statistics().pending == 0)


def test_outside_of_tasks_there_is_no_cluster() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(fs.current()))
    thread.start()
    thread.join()
    assert isinstance(found[0], fs.Cluster)


def test_what_a_task_can_not_do_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.UsageError, match="can't resize it"):
        cluster.submit(lambda: here().resize(2)).result()

    def closes() -> int:
        with here() as same:
            same.close()
        return here().submit(add, 1, 1).result()

    assert cluster.submit(closes).result() == 2


def test_tasks_of_a_worker_of_another_machine_submit(tmp_path: Path) -> None:
    """Over TLS, and with a cache that is not the program's."""
    options = {"executors": 1, "memory": "64MiB", "disk": "64MiB"}
    with fs.Cluster(workers=2, listen="tcp://127.0.0.1:0", **options) as cluster:  # type: ignore[arg-type]
        futures = [cluster.submit(fibonacci, 5, worker=worker) for worker in (0, 1)]
        assert cluster.gather(futures) == [5, 5]

        def blocks() -> float:
            made = here().map(np.full, [50_000] * 4, range(4))
            return float(sum(block.sum() for block in here().gather(made)))

        assert cluster.submit(blocks, worker=1).result() == 300_000.0
