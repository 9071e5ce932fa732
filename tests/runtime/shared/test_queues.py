"""Queues: order, waiting, their end, and what becomes of items whose takers are lost."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from freestone.client import opened
from freestone.client.queues import Queue
from tests.runtime.serving import Program
from tests.runtime.shared.ending import closed_during
from tests.waiting import until


@pytest.fixture
def queue(cluster: fs.Cluster) -> Iterator[Queue[object]]:
    queue = cluster.queue("test")
    yield queue
    queue.delete()


def test_what_is_put_first_is_taken_first(queue: Queue[object]) -> None:
    values = [1, "two", None, np.arange(100_000.0), {"four": 4}]
    for value in values:
        queue.put(value)
    assert queue.qsize() == 5
    taken = [queue.get() for _ in values]
    assert queue.qsize() == 0
    np.testing.assert_array_equal(taken.pop(3), values.pop(3))
    assert taken == values


def test_tasks_put_and_take(cluster: fs.Cluster, queue: Queue[object]) -> None:
    def put(k: int) -> None:
        queue.put(k)

    def total(queue: Queue[int]) -> int:
        return sum(queue)

    both = [cluster.submit(total, queue, pure=False) for _ in range(2)]
    cluster.gather(cluster.map(put, range(30), pure=False))
    queue.close()
    assert sum(cluster.gather(both)) == 435


def test_a_task_that_waits_takes_nothing(cluster: fs.Cluster, queue: Queue[object]) -> None:
    def take() -> object:
        here = fs.current()
        assert here is not None
        return here.queue("test").get()

    whole = {"cores": 2}
    waiting = [cluster.submit(take, resources=whole, pure=False) for _ in range(3)]
    assert cluster.submit(pow, 2, 10, resources=whole, priority=-1, pure=False).result() == 1024
    for k in range(3):
        queue.put(k)
    assert sorted(cluster.gather(waiting)) == [0, 1, 2]


def test_a_full_queue_has_its_putters_wait(cluster: fs.Cluster) -> None:
    queue = cluster.queue("full", maxsize=2)
    queue.put(1)
    queue.put(2)
    with pytest.raises(errors.SharedTimeoutError, match="room in the queue 'full'"):
        queue.put(3, timeout_s=0.0)
    thread = threading.Thread(target=queue.put, args=(4,))
    thread.start()
    assert [queue.get() for _ in range(3)] == [1, 2, 4]
    thread.join()
    with pytest.raises(errors.SharedTimeoutError, match="an item of the queue 'full'") as caught:
        queue.get(timeout_s=0.0)
    assert isinstance(caught.value, TimeoutError)


def test_a_queue_that_is_closed_comes_to_its_end(cluster: fs.Cluster) -> None:
    queue = cluster.queue("closing", maxsize=3)
    queue.put(1)
    queue.put(2)
    with pytest.raises(errors.SharedKindError, match=r"a queue of 3 items .* not a queue of 4"):
        cluster.queue("closing", maxsize=4).put(1)
    queue.close()
    queue.close()
    with pytest.raises(errors.QueueClosedError):
        queue.put(3)
    assert list(queue) == [1, 2]
    with pytest.raises(EOFError, match="'closing' is closed, or was deleted"):
        queue.get()
    queue.delete()
    again = cluster.queue("closing")
    again.put(5)
    assert again.get() == 5


def test_who_waits_hears_that_a_queue_is_deleted(cluster: fs.Cluster) -> None:
    ended = threading.Event()

    def take() -> None:
        try:
            cluster.queue("deleted").get()
        except errors.QueueClosedError:
            ended.set()

    def delete() -> bool:
        cluster.queue("deleted").delete()
        return ended.is_set()

    thread = threading.Thread(target=take)
    thread.start()
    assert until(delete)
    thread.join()


def test_a_future_is_its_value_or_its_error(cluster: fs.Cluster, queue: Queue[object]) -> None:
    queue.put(cluster.submit(pow, 2, 20))
    queue.put(cluster.submit(divmod, 1, 0))
    queue.put(3)
    assert queue.get() == 2**20
    with pytest.raises(ZeroDivisionError):
        queue.get()
    assert queue.get() == 3


def test_a_future_that_takes_longer_goes_back(cluster: fs.Cluster, queue: Queue[object]) -> None:
    gate = cluster.variable("gate")
    queue.put(cluster.submit(gate.get, pure=False))
    queue.put(2)
    wanted = "the result of 'Variable.get', which is the first item of the queue 'test'"
    with pytest.raises(errors.SharedTimeoutError, match=wanted):
        queue.get(timeout_s=0.0)
    assert queue.qsize() == 2
    in_task = cluster.submit(lambda: queue.get(timeout_s=0.0), pure=False)
    assert isinstance(in_task.exception(), errors.SharedTimeoutError)
    assert until(lambda: queue.qsize() == 2)
    gate.set(1)
    assert (queue.get(), queue.get(timeout_s=0.0)) == (1, 2)
    gate.delete()


def test_a_task_apart_hears_what_it_cannot_use(cluster: fs.Cluster, queue: Queue[object]) -> None:
    call = cluster.submit(queue.qsize, isolation="process", pure=False)
    with pytest.raises(errors.UsageError, match="queues, variables and locks"):
        call.result()


def take_two(queue: Queue[int], size: int, mark: str, how: str) -> list[int]:
    """Take two items of so many, and end by violence after that the first time."""
    # The manager may hear later of an executor's end than the next one begins.
    assert until(lambda: queue.qsize() == size)
    taken = [queue.get(), queue.get()]
    if not os.path.exists(mark):
        Path(mark).touch()
        if how == "sleep":
            time.sleep(600)
        os._exit(9)
    return taken


@pytest.mark.parametrize("isolation", ["shared", "fork"])
def test_items_of_a_call_that_dies_come_again(
    cluster: fs.Cluster, queue: Queue[object], tmp_path: Path, isolation: str
) -> None:
    for k in range(5):
        queue.put(k)
    mark = str(tmp_path / "tried")
    call = cluster.submit(take_two, queue, 5, mark, "exit", pure=False, isolation=isolation)
    assert call.result() == [0, 1]
    # What the call that has ended had taken is done with.
    assert [queue.get() for _ in range(3)] == [2, 3, 4]
    assert queue.qsize() == 0


def test_items_of_a_cancelled_call_go_back(
    cluster: fs.Cluster, queue: Queue[object], tmp_path: Path
) -> None:
    for k in range(4):
        queue.put(k)
    mark = tmp_path / "in"
    call = cluster.submit(take_two, queue, 4, str(mark), "sleep", pure=False)
    assert until(mark.exists)
    assert queue.qsize() == 2
    assert call.cancel()
    assert until(lambda: queue.qsize() == 4)
    assert [queue.get() for _ in range(4)] == [0, 1, 2, 3]


def test_what_a_task_is_done_with_does_not_come_again(
    cluster: fs.Cluster, queue: Queue[object], tmp_path: Path
) -> None:
    def take(mark: str) -> list[object]:
        assert until(lambda: queue.qsize() == (2 if os.path.exists(mark) else 3))
        taken = [queue.get()]
        queue.task_done()
        taken.append(queue.get())
        if not os.path.exists(mark):
            Path(mark).touch()
            os._exit(9)
        return taken

    for k in range(3):
        queue.put(k)
    assert cluster.submit(take, str(tmp_path / "tried"), pure=False).result() == [1, 2]
    assert queue.qsize() == 0


def test_the_end_waits_for_what_may_come_back(
    cluster: fs.Cluster, queue: Queue[object], tmp_path: Path
) -> None:
    def hold(mark: str) -> list[object]:
        taken = [queue.get()]
        first = not os.path.exists(mark)
        Path(mark).touch()
        if first:
            time.sleep(600)
        return taken

    mark = tmp_path / "in"
    queue.put(7)
    call = cluster.submit(hold, str(mark), pure=False)
    assert until(mark.exists)
    queue.close()
    with pytest.raises(errors.SharedTimeoutError):
        queue.get(timeout_s=0.0)
    assert call.cancel()
    assert list(queue) == [7]


def test_items_outlive_the_program_that_put_them(served: fs.Cluster, folder: Path) -> None:
    program = Program(PUTTING, folder)
    assert program.read() == "put"
    program.kill()
    queue = served.queue("left")
    assert queue.get() == "small"
    np.testing.assert_array_equal(queue.get(), np.arange(50_000))
    assert queue.get() == 1024


PUTTING = """
import freestone as fs, numpy as np, time
cluster = fs.connect("lab")
queue = cluster.queue("left")
queue.put("small")
queue.put(np.arange(50_000))
queue.put(cluster.submit(pow, 2, 10))
print("put", flush=True)
time.sleep(600)
"""


def test_items_of_a_lost_worker_come_again(tmp_path: Path) -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        queue = cluster.queue("lost")
        for k in range(3):
            queue.put(k)
        mark = tmp_path / "in"
        call = cluster.submit(take_two, queue, 3, str(mark), "sleep", pure=False)
        assert until(mark.exists)
        worker = next(one for one in cluster.client.workers() if one["assigned"])
        os.kill(worker["pid"], signal.SIGKILL)
        assert call.result() == [0, 1]
        assert queue.get() == 2


@pytest.mark.parametrize("maxsize", [-1, True, 1.5, "3", 2**32])
def test_a_size_that_is_none_is_refused(cluster: fs.Cluster, maxsize: object) -> None:
    with pytest.raises(ValueError, match="maxsize is a whole number"):
        cluster.queue("bad", maxsize=maxsize)  # type: ignore[arg-type]


def test_bad_use_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match="the name of a queue is text"):
        cluster.queue(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give seconds"):
        cluster.queue("bad").get(timeout_s=-1)
    with pytest.raises(errors.NotSerializableError, match=r"\['lock'\] is of type _thread.lock"):
        cluster.queue("bad").put({"lock": threading.Lock()})


def test_copies_are_the_same_queue_in_the_program_of_its_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opened, "_open", {})
    with fs.Cluster(executors=1, memory="16MiB") as only:
        queue = only.queue("copied")
        sent = pickle.dumps(queue)
        copies = [copy.deepcopy(queue), only.submit(lambda queue: queue, queue).result()]
        for k, one in enumerate([*copies, pickle.loads(sent)]):
            one.put(k)
        assert [queue.get() for _ in range(3)] == [0, 1, 2]
        variable = copy.copy(only.variable("copied v", default=4))
        assert variable.get() == 4
        with copy.copy(only.lock("copied l")), fs.Cluster(executors=1, memory="16MiB"):
            either = pickle.loads(sent)
            with pytest.raises(errors.UsageError, match="2 clusters are open"):
                either.get()
    with pytest.raises(errors.ClosedError):
        copies[0].get()


def test_the_end_of_the_cluster_ends_the_wait(folder: Path, served: fs.Cluster) -> None:
    with fs.connect("lab", folder=str(folder)) as connected:
        assert "'ending'" in str(closed_during(connected, connected.queue("ending").get))
    # Nobody waits for it any more: an item stays.
    served.queue("ending").put(1)
    assert served.queue("ending").get() == 1
