"""What a call does to its process hurts that call, and no other."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs
from freestone import errors
from tests.waiting import until


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    """One worker with one executor."""
    with fs.Cluster(executors=1, memory="128MiB", disk="256MiB") as cluster:
        yield cluster


def add(x: int) -> int:
    return x + 1


def fork_and_return(folder: str, how: str) -> int:
    child = os.fork()
    if child == 0:
        Path(folder, "child").write_text(str(os.getpid()))
        if how == "raise":
            raise ValueError("in the child")
        if how == "exit":
            sys.exit(3)
        return 0
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def close_all() -> int:
    os.closerange(3, 1000)
    return 1


def put_a_file_in_place_of_all(path: str) -> int:
    """Have a file where descriptors were, at once: none of them is closed before."""
    with open(path, "w") as file:
        for number in range(3, 1000):
            os.dup2(file.fileno(), number)
    return 1


def leave(status: object) -> None:
    sys.exit(status)  # type: ignore[arg-type]


def interrupt(kind: type[BaseException]) -> None:
    raise kind("stop")


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
@pytest.mark.parametrize(("how", "status"), [("return", 0), ("raise", 1), ("exit", 3)])
def test_a_child_that_returns_from_a_call_ends(
    cluster: fs.Cluster, tmp_path: Path, how: str, status: int, isolation: str
) -> None:
    executor = cluster.submit(os.getpid, pure=False).result()
    future = cluster.submit(fork_and_return, str(tmp_path), how, isolation=isolation)
    assert future.result() == status
    child = int((tmp_path / "child").read_text())
    assert until(lambda: not Path(f"/proc/{child}").exists())
    assert cluster.gather(cluster.map(add, range(100))) == list(range(1, 101))
    assert cluster.submit(os.getpid, pure=False).result() == executor


def test_a_call_that_closes_all_descriptors_ends_only_its_executor(cluster: fs.Cluster) -> None:
    others = cluster.map(add, range(100))
    with pytest.raises(errors.TaskKilledError) as caught:
        cluster.submit(close_all).result()
    assert caught.value.attempts == 3
    assert cluster.gather(others) == list(range(1, 101))


def test_nothing_is_written_where_the_connection_was(cluster: fs.Cluster, tmp_path: Path) -> None:
    with pytest.raises(errors.TaskKilledError):
        cluster.submit(put_a_file_in_place_of_all, str(tmp_path / "file")).result()
    assert (tmp_path / "file").stat().st_size == 0


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
@pytest.mark.parametrize("status", [None, 0, 7, "a reason"])
def test_exit_ends_the_task_and_not_the_program(
    cluster: fs.Cluster, status: int | str | None, isolation: str
) -> None:
    with pytest.raises(errors.TaskExitedError, match=r"leave.* called sys\.exit\(") as caught:
        cluster.submit(leave, status, isolation=isolation).result()
    assert caught.value.status == status
    assert isinstance(caught.value, RuntimeError)
    assert "leave" in "\n".join(caught.value.__notes__)
    assert cluster.submit(add, 1, isolation=isolation).result() == 2


def test_the_status_of_an_exit_may_be_anything(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.TaskExitedError) as caught:
        cluster.submit(leave, (1, 2)).result()
    assert caught.value.status == "(1, 2)"


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, StopIteration]
)
def test_what_would_end_the_program_is_an_error_of_the_task(
    cluster: fs.Cluster, kind: type[BaseException]
) -> None:
    with pytest.raises(errors.TaskRaisedError, match="stop") as caught:
        cluster.submit(interrupt, kind).result()
    assert caught.value.kind.endswith(kind.__name__)
    assert "raised here, that would end or cancel" in str(caught.value)
    assert isinstance(caught.value.__cause__, kind)


def test_exit_may_be_tried_again(cluster: fs.Cluster, tmp_path: Path) -> None:
    def exits_once() -> str:
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            sys.exit(1)
        return "done"

    assert cluster.submit(exits_once, retries=1).result() == "done"
