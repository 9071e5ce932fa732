"""What fails: with the right error, at once, and nothing else suffers."""

from __future__ import annotations

import asyncio
import copyreg
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import errors


def add(x: int, y: int = 1) -> int:
    return x + y


def divide(x: int) -> float:
    return x / 0


def die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), getattr(signal, how))
    time.sleep(30)


def test_the_original_exception_comes_back_with_its_place(cluster: fs.Cluster) -> None:
    future = cluster.submit(divide, 1)
    with pytest.raises(ZeroDivisionError) as caught:
        future.result()
    notes = "\n".join(caught.value.__notes__)
    assert "divide" in notes
    assert "worker-0" in notes
    assert "x / 0" in notes
    assert isinstance(future.exception(), ZeroDivisionError)
    assert future.status == "failed"


def reduce_without_init(error: np.exceptions.AxisError) -> tuple[Any, ...]:
    return np.exceptions.AxisError.__new__, (np.exceptions.AxisError,)


def sum_along_axis(axis: int) -> float:
    # As tblib does it, when Dask is imported.
    copyreg.pickle(np.exceptions.AxisError, reduce_without_init)  # type: ignore[arg-type]
    return float(np.ones((2, 2)).sum(axis))


def test_reducers_that_a_task_registers_do_not_spoil_its_exception(cluster: fs.Cluster) -> None:
    with pytest.raises(np.exceptions.AxisError, match="axis 7 is out of bounds") as caught:
        cluster.submit(sum_along_axis, 7).result()
    assert (caught.value.axis, caught.value.ndim) == (7, 2)


class Http(Exception):  # noqa: N818
    def __init__(self, status: int, url: str) -> None:
        super().__init__(f"{status} for {url}")
        self.status = status


def fetch() -> None:
    raise Http(404, "u")


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_an_exception_with_a_constructor_of_its_own_comes_back(
    cluster: fs.Cluster, isolation: str
) -> None:
    with pytest.raises(Http, match=r"^404 for u") as caught:
        cluster.submit(fetch, isolation=isolation).result()
    assert caught.value.status == 404
    assert any("in fetch" in note for note in caught.value.__notes__)


def fetch_again() -> None:
    try:
        fetch()
    except Http as error:
        raise RuntimeError("not there") from error


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_so_does_what_led_to_it(cluster: fs.Cluster, isolation: str) -> None:
    with pytest.raises(RuntimeError, match="not there") as caught:
        cluster.submit(fetch_again, isolation=isolation).result()
    cause = caught.value.__cause__
    assert isinstance(cause, Http)
    assert (cause.status, caught.value.__context__) == (404, cause)


def fail_with(size: int | None) -> None:
    error = ValueError("with more")
    error.more = threading.Lock() if size is None else bytes(size)  # type: ignore[attr-defined]
    raise error


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (None, r"can't be sent: TypeError: cannot pickle '_thread.lock' object"),
        (20 << 20, r"is too large to be sent: it takes 20(.0)? MiB, and may take 8(.00)? MiB"),
    ],
)
def test_what_is_raised_in_its_place_says_why(
    cluster: fs.Cluster, size: int | None, why: str
) -> None:
    with pytest.raises(errors.TaskRaisedError, match=why) as caught:
        cluster.submit(fail_with, size).result()
    assert (caught.value.kind, caught.value.text) == ("ValueError", "with more")


def test_what_depends_on_a_failure_fails_with_it(cluster: fs.Cluster) -> None:
    chain = cluster.submit(add, cluster.submit(add, cluster.submit(divide, 2)))
    with pytest.raises(ZeroDivisionError):
        chain.result()


@pytest.mark.parametrize(("how", "signal_number"), [("SIGSEGV", 11), ("exit", None)])
def test_a_call_that_kills_its_executors_is_refused(
    cluster: fs.Cluster, how: str, signal_number: int | None
) -> None:
    others = cluster.map(add, range(100))
    with pytest.raises(errors.TaskKilledError) as caught:
        cluster.submit(die, how).result()
    assert (caught.value.signal, caught.value.attempts) == (signal_number, 3)
    assert cluster.gather(others) == list(range(1, 101))


@pytest.mark.parametrize("isolation", ["fork", "process"])
def test_an_isolated_call_that_dies_leaves_the_executor_alone(
    cluster: fs.Cluster, isolation: str
) -> None:
    with pytest.raises(errors.TaskKilledError):
        cluster.submit(die, "SIGKILL", isolation=isolation).result()
    assert cluster.submit(add, 1, isolation=isolation).result() == 2


def test_isolation_keeps_processes_apart(cluster: fs.Cluster) -> None:
    resident = {future.result() for future in cluster.map(lambda _: os.getpid(), range(50))}
    for isolation in ("fork", "process"):
        pid = cluster.submit(os.getpid, isolation=isolation, pure=False).result()
        assert pid not in resident


def test_isolated_calls_take_and_give_large_blocks(cluster: fs.Cluster) -> None:
    block = cluster.put(np.arange(10**5))
    for isolation in ("fork", "process"):
        doubled = cluster.submit(np.multiply, block, 2, isolation=isolation)
        assert doubled.result()[-1] == 2 * (10**5 - 1)


def test_retries(cluster: fs.Cluster, tmp_path: Path) -> None:
    counter = tmp_path / "attempts"

    def sometimes(path: str) -> int:
        with open(path, "a") as file:
            file.write("x")
        attempts = os.path.getsize(path)
        if attempts < 3:
            raise OSError("not yet")
        return attempts

    assert cluster.submit(sometimes, str(counter), retries=2).result() == 3


def test_a_call_that_runs_too_long_is_ended(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.TaskTimeoutError) as caught:
        cluster.submit(time.sleep, 60, timeout_s=0.2).result()
    assert caught.value.timeout_s == pytest.approx(0.2)


def test_a_running_call_can_be_cancelled(cluster: fs.Cluster) -> None:
    future = cluster.submit(time.sleep, 61)
    dependent = cluster.submit(lambda _: 1, future)
    while cluster.explain(future).stage != "assigned":
        time.sleep(0)
    cluster.cancel([future])
    for one in (future, dependent):
        with pytest.raises(errors.TaskCancelledError):
            one.result()
        assert one.cancelled()
        assert "was cancelled" in str(cluster.explain(one))
    assert cluster.submit(add, 123).result() == 124


def test_what_is_cancelled_is_so_at_once(cluster: fs.Cluster) -> None:
    future = cluster.submit(time.sleep, 62)
    assert future.cancel()
    assert future.done()
    assert future.cancelled()
    assert future.cancel()
    ended = cluster.submit(add, 62)
    assert ended.result() == 63
    assert not ended.cancel()
    assert not ended.cancelled()


def test_what_no_worker_can_give_is_refused_at_once(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.UnschedulableError, match="64"):
        cluster.submit(add, 641, resources={"cores": 64}).result()
    with pytest.raises(errors.UnschedulableError):
        cluster.submit(add, 642, resources={"memory": "1TiB"}).result()


def test_what_cannot_be_pickled_is_named(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.NotSerializableError, match=r"lock"):
        cluster.submit(add, {"key": [threading.Lock()]})
    with pytest.raises(errors.NotSerializableError, match="result"):
        cluster.submit(lambda: threading.Lock()).result()


def test_a_module_that_the_worker_lacks(cluster: fs.Cluster) -> None:
    def uses_missing() -> None:
        import no_such_module_anywhere  # noqa: F401

    with pytest.raises((errors.FunctionLoadError, ModuleNotFoundError)):
        cluster.submit(uses_missing).result()


def test_files(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("some text")
    named = fs.file(path)
    assert named.read_text() == "some text"
    assert cluster.submit(lambda f: f.read_text(), named).result() == "some text"
    with pytest.raises(errors.FileMissingError):
        fs.file(tmp_path / "missing")
    with pytest.raises(errors.FileError, match="folder"):
        fs.file(tmp_path)
    strange = os.path.join(os.fsencode(tmp_path), b"\xff.bin")
    Path(os.fsdecode(strange)).touch()
    with pytest.raises(errors.FileError, match=r"\\xff.bin has a name that is no UTF-8"):
        fs.file(os.fsdecode(strange))
    os.mkfifo(tmp_path / "pipe")
    for special in ("/dev/null", tmp_path / "pipe"):
        with pytest.raises(errors.FileError, match="is a device, a pipe or a socket"):
            fs.file(special)


def test_a_file_of_the_content_of_one_that_is_gone(cluster: fs.Cluster, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"

    def read(file: fs.File, call: int) -> str:
        return f"{call} {file.read_text()}"

    first.write_text("same")
    assert cluster.submit(read, fs.file(first), 0).result() == "0 same"
    first.rename(second)
    assert cluster.submit(read, fs.file(second), 1).result() == "1 same"
    # What is gone fails; named anew, it is there.
    gone = fs.file(second)
    second.unlink()
    with pytest.raises(errors.FileMissingError):
        cluster.submit(read, gone, 2).result()
    first.write_text("same")
    assert cluster.submit(read, fs.file(first), 3).result() == "3 same"
    first.write_text("else")
    second.write_text("same")
    assert cluster.submit(read, fs.file(second), 4).result() == "4 same"
    assert cluster.submit(read, fs.file(first), 5).result() == "5 else"


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_file_of_the_content_of_another_programs(tmp_path: Path, is_gone: bool) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for path in (first, second):
        path.write_text("same")

    def read(file: fs.File, call: int) -> str:
        return f"{call} {file.read_text()}"

    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as own:
        with fs.connect(own.access) as other:
            assert other.submit(read, fs.file(first), 0).result() == "0 same"
            if not is_gone:
                # It is the one that the cluster knows under this content.
                first.unlink()
            with fs.connect(own.access) as program:
                if is_gone:
                    other.close()
                    first.unlink()
                named = fs.file(second)
                assert program.submit(read, named, 1).result() == "1 same"
                # The same file is the same block, for all programs.
                with fs.connect(own.access) as third:
                    assert third.put(fs.file(second)).name == program.put(named).name
        assert own.submit(read, fs.file(second), 2).result() == "2 same"


def test_a_file_that_changed_since_it_was_named(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "changing.txt"
    path.write_text("before")
    named = fs.file(path)
    path.write_text("after, and longer")
    with pytest.raises(errors.FileChangedError, match=r"changing\.txt"):
        cluster.submit(lambda f: f.read_text(), named).result()


def test_a_file_that_is_gone(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "gone.txt"
    path.write_text("here")
    named = fs.file(path)
    path.unlink()
    with pytest.raises(errors.FileError, match=r"gone\.txt"):
        cluster.submit(lambda f: f.read_text(), named).result()


def test_a_file_goes_to_another_worker(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(os.urandom(300_000))
    named = fs.file(path)
    there = two_workers.submit(lambda f: (f.path, f.read_bytes()), named, worker=1).result()
    assert there[0] != str(path)
    assert there[1] == path.read_bytes()


def test_commands(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("b\na\n")
    sorting = cluster.command(
        "sort words.txt > sorted.txt; echo $GREETING",
        inputs={"words.txt": fs.file(path)},
        outputs=["sorted.txt"],
        env={"GREETING": "hello"},
    )
    assert sorting.stdout.result() == "hello\n"
    assert sorting.outputs["sorted.txt"].result().read_text() == "a\nb\n"
    counting = cluster.command("wc -l < in.txt", inputs={"in.txt": sorting.outputs["sorted.txt"]})
    assert counting.stdout.result().strip() == "2"
    import subprocess

    with pytest.raises(subprocess.CalledProcessError) as caught:
        cluster.command("echo oops >&2; exit 7").stdout.result()
    assert caught.value.returncode == 7
    with pytest.raises(errors.FileMissingError, match=r"nowhere\.txt"):
        cluster.command("true", outputs=["nowhere.txt"]).stdout.result()


def test_another_clusters_future(cluster: fs.Cluster) -> None:
    with fs.Cluster(executors=1, memory="16MiB") as other:
        foreign = other.submit(add, 1)
        with pytest.raises(errors.ForeignFutureError):
            cluster.submit(add, foreign)


def test_use_after_close() -> None:
    with fs.Cluster(executors=1, memory="16MiB") as closed:
        slow = closed.submit(time.sleep, 60)
    with pytest.raises(errors.ClosedError):
        closed.submit(add, 1)
    with pytest.raises(errors.ClosedError):
        slow.result()
    closed.close()
    with pytest.raises(errors.ClosedError, match="enter it again"), closed:
        pass

    async def enter() -> None:
        async with closed:
            pass

    with pytest.raises(errors.ClosedError, match="enter it again"):
        asyncio.run(enter())


def test_a_full_cache_is_refused_clearly() -> None:
    with fs.Cluster(executors=1, memory="16MiB", disk="16MiB") as small:
        with pytest.raises(errors.StorageFullError) as caught:
            small.submit(np.ones, 8_000_000).result()
        assert caught.value.needed > 60_000_000
        assert small.submit(add, 1).result() == 2


def test_wrong_options_are_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(ValueError, match="isolation"):
        cluster.submit(add, 1, isolation="thread")
    with pytest.raises(ValueError, match="keep"):
        cluster.submit(add, 1, keep="always")
    with pytest.raises(ValueError, match="timeout_s"):
        cluster.submit(add, 1, timeout_s=-1)
    with pytest.raises(ValueError, match="resources"):
        cluster.submit(add, 1, resources={"cpus": 1})
    with pytest.raises(errors.ConfigurationError, match="executors"):
        fs.Cluster(executor=2)


def test_python_is_this_one(cluster: fs.Cluster) -> None:
    assert cluster.submit(lambda: sys.executable).result() == sys.executable
