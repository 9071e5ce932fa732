"""What is done on all workers: by the program that opened the cluster, and by another one."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import freestone as fs
from freestone.errors import (
    ClosedError,
    TaskCancelledError,
    TaskKilledError,
    UsageError,
    WaitTimeoutError,
    WorkerAbsentError,
    WorkersMissingError,
)
from tests.waiting import until


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[fs.Cluster]:
    """Two workers, one executor each, that others find as ``lab``."""
    with fs.Cluster(
        workers=2, executors=1, memory="64MiB", disk="64MiB", folder=str(folder)
    ) as cluster:
        cluster.share("lab")
        yield cluster


@pytest.fixture(params=["embedded", "connected"])
def cluster(
    request: pytest.FixtureRequest, served: fs.Cluster, folder: Path
) -> Iterator[fs.Cluster]:
    """The same cluster, as the program has it that opened it, and as another one does."""
    if request.param == "embedded":
        yield served
        return
    with fs.connect("lab", folder=str(folder)) as connected:
        yield connected


def pids(cluster: fs.Cluster) -> dict[str, int]:
    return {one.worker: one.pid for one in cluster.statistics().workers}


def test_a_function_runs_once_on_each_worker(cluster: fs.Cluster) -> None:
    assert cluster.run(os.getppid) == pids(cluster)
    first, second = pids(cluster)
    assert cluster.run(os.getppid, workers=second) == {second: pids(cluster)[second]}
    number = int(first.removeprefix("worker-"))
    assert list(cluster.run(os.getppid, workers=[second, number, first])) == [second, first]
    assert cluster.run(os.getppid, workers=[]) == {}


def test_arguments_are_those_of_a_call(cluster: fs.Cluster, tmp_path: Path) -> None:
    def note(folder: str, *, text: str, power: int) -> str:
        with open(os.path.join(folder, "ran"), "a") as file:
            file.write(text)
        return text + str(power)

    power = cluster.submit(pow, 2, 5)
    results = cluster.run(note, str(tmp_path), text="x", power=power)
    assert list(results.values()) == ["x32", "x32"]
    assert (tmp_path / "ran").read_text() == "xx"
    # Equal calls are not one: what it does there matters.
    cluster.run(note, str(tmp_path), text="x", power=32)
    assert (tmp_path / "ran").read_text() == "xxxx"


def test_it_comes_before_what_waits_for_a_worker(cluster: fs.Cluster, tmp_path: Path) -> None:
    def hold(path: str) -> None:
        assert until(lambda: os.path.exists(path))

    def note(path: str, label: str) -> None:
        with open(f"{path}-{os.getpid()}", "a") as file:
            file.write(label)

    path = str(tmp_path / "ran")
    held = cluster.map(hold, [path] * 2, pure=False)
    assert until(lambda: cluster.statistics().assigned == 2)
    noted = cluster.map(note, [path] * 20, ["."] * 20, pure=False)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(cluster.run, note, path, "R")
        assert until(lambda: unfinished(cluster) == 2 + 20 + 2)
        open(path, "w").close()
        assert len(done.result()) == 2
    cluster.gather([*held, *noted])
    ran = [file.read_text() for file in tmp_path.glob("ran-*")]
    # A worker has one call ahead of what it runs.
    assert len(ran) == 2
    assert all(text.index("R") <= 1 for text in ran)


def unfinished(cluster: fs.Cluster) -> int:
    figures = cluster.statistics()
    return figures.waiting + figures.ready + figures.assigned


def fail_on(pid: int) -> int:
    if os.getppid() == pid:
        raise KeyError("only here")
    return os.getppid()


def test_a_failure_names_the_worker(cluster: fs.Cluster) -> None:
    first, second = pids(cluster)
    with pytest.raises(KeyError, match="only here") as caught:
        cluster.run(fail_on, pids(cluster)[second])
    note = caught.value.__notes__[-1]
    assert note == f"cluster.run(fail_on) failed on {second}; it returned on {first}"
    with pytest.raises(ZeroDivisionError) as divided:
        cluster.run(lambda: 1 // 0)
    assert divided.value.__notes__[-1].endswith(f"failed on {first}, {second}")


def test_a_function_that_kills_its_executors_is_reported(cluster: fs.Cluster) -> None:
    second = list(pids(cluster))[1]
    with pytest.raises(TaskKilledError) as caught:
        cluster.run(os._exit, 3, workers=second)
    assert f"failed on {second}" in caught.value.__notes__[-1]
    assert list(cluster.run(os.getppid)) == list(pids(cluster))


def test_a_time_limit_names_who_is_late_and_cancels_there(
    cluster: fs.Cluster,
) -> None:
    second = list(pids(cluster))[1]
    with pytest.raises(WaitTimeoutError) as caught:
        cluster.run(signal.pause, workers=second, timeout_s=0.05)
    assert f"no result of {second}, and is cancelled there" in caught.value.__notes__[0]
    assert "1 task has not ended after 50 ms, and is cancelled; wait longer" in str(caught.value)
    assert len(cluster.run(os.getpid, timeout_s=60)) == 2


def test_what_is_wrong_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(UsageError, match=r"no worker 'worker-9' that runs calls; there are: work"):
        cluster.run(os.getpid, workers=9)
    with pytest.raises(TypeError, match="a worker is its number or its name"):
        cluster.run(os.getpid, workers=[1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a worker is its number or its name"):
        cluster.run(os.getpid, workers=True)
    with pytest.raises(TypeError, match=r"workers=1.5: a worker is its number or its name"):
        cluster.run(os.getpid, workers=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout_s=-1"):
        cluster.run(os.getpid, timeout_s=-1)
    with pytest.raises(
        TypeError, match=r"write run\(functools.partial\(take, workers=...\), ...\)"
    ):
        cluster.run(take, workers=0)
    assert set(cluster.run(functools.partial(take, workers=7)).values()) == {7}
    with pytest.raises(TypeError, match="can't be called"):
        cluster.run("uname")  # type: ignore[arg-type]


def take(workers: int) -> int:
    return workers


def test_a_task_can_run_on_all_workers(cluster: fs.Cluster) -> None:
    def everywhere() -> dict[str, int]:
        current = fs.current()
        assert current is not None
        return current.run(os.getppid)

    assert cluster.submit(everywhere, pure=False).result() == pids(cluster)


def kill_parent(pid: int) -> int:
    if os.getppid() == pid:
        os.kill(pid, signal.SIGKILL)
        signal.pause()
    return 1


def test_a_worker_that_leaves_is_reported(cluster: fs.Cluster) -> None:
    first, second = pids(cluster)
    with pytest.warns(RuntimeWarning, match=f"{second} left before there was a result"):
        assert cluster.run(kill_parent, pids(cluster)[second]) == {first: 1}
    cluster.wait_for_workers(2, timeout_s=60)
    second = list(pids(cluster))[1]
    with pytest.raises(WorkerAbsentError) as caught:
        cluster.run(kill_parent, pids(cluster)[second], workers=second)
    assert f"failed on {second}" in caught.value.__notes__[-1]
    cluster.wait_for_workers(2, timeout_s=60)


def test_a_cluster_without_executors_refuses() -> None:
    with (
        fs.Cluster(executors=0, memory="64MiB", disk="64MiB", listen="tcp://127.0.0.1:0") as empty,
        pytest.raises(WorkersMissingError),
    ):
        empty.run(os.getpid)
    with pytest.raises(ClosedError, match="run a function on its workers"):
        empty.run(os.getpid)


def remember(value: str) -> None:
    os.environ["REMEMBERED"] = value


def recall() -> str:
    return os.environ.get("REMEMBERED", "")


def begin(path: str) -> str:
    """End when it is called the second time, or when it may."""
    with open(path, "a") as file:
        file.write("x")
    assert until(lambda: os.path.exists(path + "-go") or os.path.getsize(path) > 1)
    return Path(path).read_text()


def has_begun(path: str) -> bool:
    """Whether a call has noted that, and not only opened the file."""
    return os.path.exists(path) and os.path.getsize(path) > 0


def test_executors_are_replaced(cluster: fs.Cluster) -> None:
    workers, executors = pids(cluster), cluster.run(os.getpid)
    small, large = cluster.submit(pow, 2, 20), cluster.submit(bytes, 1 << 20)
    cluster.wait([small, large])
    cluster.run(remember, "x")
    assert all(cluster.run(recall).values())
    cluster.restart()
    assert not any(cluster.run(recall).values())
    assert pids(cluster) == workers
    assert not set(cluster.run(os.getpid).values()) & set(executors.values())
    # What was made is not in them.
    assert (small.result(), len(large.result())) == (1 << 20, 1 << 20)


def test_what_has_not_ended_is_cancelled(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = str(tmp_path / "ran")
    # Nor is it tried a second time elsewhere, however long it is.
    running = cluster.submit(begin, path, pure=False)
    assert until(lambda: has_begun(path))
    depends = cluster.submit(len, running)
    waiting = [cluster.submit(begin, f"{path}-{k}") for k in range(4)]
    total = fs.reduce(max, waiting)
    cluster.restart()
    assert all(one.cancelled() for one in [running, depends, *waiting, total])
    assert os.path.getsize(path) == 1
    with pytest.raises(TaskCancelledError):
        running.result()
    open(path + "-go", "w").close()
    assert cluster.submit(begin, path).result() == "xx"


def test_what_outlives_the_program_begins_again(cluster: fs.Cluster, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("published", "detached")]
    published, detached = (cluster.submit(begin, path) for path in paths)
    cluster.publish("restarted", published)
    detached.detach()
    assert until(lambda: all(map(has_begun, paths)))
    cluster.restart()
    assert (published.result(), detached.result()) == ("xx", "xx")
    assert cluster["restarted"].result() == "xx"
    cluster.unpublish("restarted")


def test_calls_of_other_programs_begin_again(
    served: fs.Cluster, folder: Path, tmp_path: Path
) -> None:
    path, mine = str(tmp_path / "theirs"), str(tmp_path / "mine")
    with fs.connect("lab", folder=str(folder)) as one, fs.connect("lab", folder=str(folder)) as two:
        theirs = one.submit(begin, path, pure=False)
        assert until(lambda: has_begun(path))
        own = two.submit(begin, mine)
        both = one.submit(begin, mine)
        # Answered after the submission: by then the manager knows that both wait for it.
        one.statistics()
        two.restart()
        assert theirs.result() == "xx"
        open(mine + "-go", "w").close()
        assert own.result() == both.result()


def hold(path: str) -> None:
    with fs.current().lock("restarted"):  # type: ignore[union-attr]
        begin(path)


def test_what_a_task_held_is_let_go(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = str(tmp_path / "held")
    held = cluster.submit(hold, path)
    assert until(lambda: has_begun(path))
    cluster.restart()
    with cluster.lock("restarted", timeout_s=60):
        assert held.cancelled()


def test_a_task_does_not_restart_its_executors(cluster: fs.Cluster) -> None:
    with pytest.raises(UsageError, match="do it in the program"):
        cluster.submit(lambda: fs.current().restart()).result()  # type: ignore[union-attr]


def test_a_cluster_restarts_while_it_is_open_and_has_executors() -> None:
    with fs.Cluster(executors=0, memory="64MiB", disk="64MiB", listen="tcp://127.0.0.1:0") as empty:
        empty.restart()
    with pytest.raises(ClosedError, match="restart its executors"):
        empty.restart()
