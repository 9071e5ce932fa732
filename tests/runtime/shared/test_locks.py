"""Locks and semaphores: who has them, who waits for them, and when they are let go."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import freestone as fs
from freestone import errors
from freestone.client import opened
from freestone.client.locks import Lock
from tests.runtime.serving import Program
from tests.runtime.shared.ending import closed_during
from tests.waiting import DEADLINE_S, until


def here() -> fs.Cluster:
    cluster = fs.current()
    assert cluster is not None
    return cluster


def alone(path: str) -> None:
    """Fail if another does this at the same time."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    time.sleep(0.001)
    os.unlink(path)


def is_free(cluster: fs.Cluster, name: str) -> bool:
    """Wait until a lock can be had."""
    with cluster.lock(name, timeout_s=DEADLINE_S):
        return True


def test_one_task_is_in_at_a_time(cluster: fs.Cluster, tmp_path: Path) -> None:
    def enter(path: str, lock: Lock) -> None:
        with here().lock("a"):
            alone(path)
        with lock:
            alone(path)

    path = str(tmp_path / "inside")
    calls = cluster.map(enter, [path] * 6, [cluster.lock("a")] * 6, pure=False)
    for _ in range(50):
        with cluster.lock("a"):
            alone(path)
    assert cluster.gather(calls) == [None] * 6


def test_a_lock_in_a_function_is_the_clusters(cluster: fs.Cluster) -> None:
    lock = cluster.lock("captured", timeout_s=0.0)

    def enter() -> str:
        with lock:
            return repr(lock)

    assert cluster.submit(enter, pure=False).result() == "<lock 'captured'>"
    with cluster.lock("captured"), pytest.raises(errors.LockTimeoutError, match="a program"):
        cluster.submit(enter, pure=False).result()


def test_a_semaphore_lets_so_many_in(cluster: fs.Cluster) -> None:
    semaphore = cluster.semaphore("database", 2, timeout_s=0.0)
    with semaphore, semaphore:
        with pytest.raises(errors.LockTimeoutError, match="not free within 0") as caught, semaphore:
            pass
        assert len(caught.value.holders) == 2
        assert str(os.getpid()) in caught.value.holders[0]
    with semaphore, semaphore:
        pass


def test_a_task_that_waits_takes_nothing(cluster: fs.Cluster) -> None:
    def enter() -> int:
        with here().lock("busy"):
            return 1

    with cluster.lock("busy"):
        # Each takes all there is, and the last one runs while the others wait.
        both = {"cores": 2}
        waiting = [cluster.submit(enter, resources=both, pure=False) for _ in range(3)]
        last = cluster.submit(pow, 2, 10, resources=both, priority=-1, pure=False)
        assert last.result() == 1024
        assert not any(future.done() for future in waiting)
    assert cluster.gather(waiting) == [1, 1, 1]


def keep(name: str) -> None:
    """Enter a lock and never leave it, in a process that remembers it."""
    lock = here().lock(name)
    lock.__enter__()
    setattr(sys, f"kept_{name}", lock)


def test_a_task_that_ends_lets_go(cluster: fs.Cluster) -> None:
    for isolation in ("shared", "fork"):
        for _ in range(3):
            cluster.submit(keep, "kept", pure=False, isolation=isolation).result()
    assert is_free(cluster, "kept")


def test_a_task_that_fails_lets_go(cluster: fs.Cluster) -> None:
    def fail() -> None:
        keep("failing")
        with here().lock("inner"):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cluster.submit(fail, pure=False).result()
    assert is_free(cluster, "failing")
    assert is_free(cluster, "inner")


def hold(name: str, gate: str) -> None:
    with here().lock(name):
        Path(gate).touch()
        time.sleep(600)


def test_a_cancelled_task_lets_go(cluster: fs.Cluster, tmp_path: Path) -> None:
    holding = cluster.submit(hold, "cancelled", str(tmp_path / "in"), pure=False)
    assert until((tmp_path / "in").exists)
    assert holding.cancel()
    assert is_free(cluster, "cancelled")


def test_a_task_that_times_out_lets_go(cluster: fs.Cluster, tmp_path: Path) -> None:
    gate = str(tmp_path / "in")
    limited = cluster.submit(hold, "timed", gate, timeout_s=0.3, retries=0, pure=False)
    with pytest.raises(errors.TaskTimeoutError):
        limited.result()
    assert is_free(cluster, "timed")


def test_a_task_that_is_cancelled_in_line_leaves_it(cluster: fs.Cluster, tmp_path: Path) -> None:
    def line_up(gate: str) -> None:
        Path(gate).touch()
        hold("line", gate)

    with cluster.lock("line"):
        waiting = cluster.submit(line_up, str(tmp_path / "in"), pure=False)
        assert until((tmp_path / "in").exists)
        assert waiting.cancel()
    assert is_free(cluster, "line")


def test_an_executor_that_dies_lets_go(cluster: fs.Cluster, tmp_path: Path) -> None:
    def die_once(mark: str) -> int:
        with here().lock("dying"):
            if not os.path.exists(mark):
                Path(mark).touch()
                os._exit(9)
            return 7

    assert cluster.submit(die_once, str(tmp_path / "tried"), pure=False).result() == 7
    assert is_free(cluster, "dying")


def test_a_program_that_dies_lets_go(served: fs.Cluster, folder: Path) -> None:
    program = Program(HOLDING, folder)
    assert program.read() == "in"
    with pytest.raises(errors.LockTimeoutError), served.lock("held", timeout_s=0.0):
        pass
    program.kill()
    assert is_free(served, "held")


HOLDING = """
import freestone as fs, time
cluster = fs.connect("lab")
with cluster.lock("held"):
    print("in", flush=True)
    time.sleep(600)
"""


def test_a_worker_that_is_lost_lets_go(tmp_path: Path) -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:

        def enter(mark: str) -> int:
            with here().lock("lost"):
                first = not os.path.exists(mark)
                Path(mark).touch()
                if first:
                    time.sleep(600)
                return 3

        running = cluster.submit(enter, str(tmp_path / "in"))
        assert until((tmp_path / "in").exists)
        worker = next(one for one in cluster.client.workers() if one["assigned"])
        os.kill(worker["pid"], signal.SIGKILL)
        assert running.result() == 3


def test_what_a_name_stands_for_is_kept_while_it_is_in_use(cluster: fs.Cluster) -> None:
    with cluster.semaphore("kind", 4):
        with pytest.raises(errors.SharedKindError, match="'kind' is a semaphore of 4"):
            cluster.semaphore("kind", 3).__enter__()
        with pytest.raises(errors.SharedKindError, match="not a lock"):
            cluster.lock("kind").__enter__()
    with cluster.lock("kind"), pytest.raises(ValueError, match="is a lock while"):
        cluster.semaphore("kind", 1).__enter__()


def test_a_thread_does_not_wait_for_itself(cluster: fs.Cluster) -> None:
    lock = cluster.lock("mine")
    with lock, pytest.raises(errors.LockHeldError, match="'mine' already"):
        cluster.lock("mine").__enter__()
    with lock:
        entered = threading.Event()

        def other() -> None:
            with lock:
                entered.set()

        thread = threading.Thread(target=other)
        thread.start()
        assert not entered.wait(0.01)
    thread.join()
    assert entered.is_set()


def test_coroutines_enter_one_after_the_other(cluster: fs.Cluster, tmp_path: Path) -> None:
    """The loop goes on while they wait, for a task and for each other."""
    inside = 0

    async def enter(lock: Lock) -> None:
        nonlocal inside
        async with lock:
            inside += 1
            assert inside <= (lock.limit or 1)
            await asyncio.sleep(0)
            inside -= 1

    async def enter_after(holding: fs.Future[None]) -> None:
        waiting = asyncio.gather(*(enter(cluster.lock("loop")) for _ in range(40)))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        (tmp_path / "out").touch()
        await waiting
        await holding
        await asyncio.gather(*(enter(cluster.semaphore("some", 3)) for _ in range(40)))

    def hold(folder: str) -> None:
        with here().lock("loop"):
            Path(folder, "in").touch()
            assert until(Path(folder, "out").exists)

    holding = cluster.submit(hold, str(tmp_path), pure=False)
    assert until((tmp_path / "in").exists)
    asyncio.run(enter_after(holding))
    assert is_free(cluster, "loop")


def test_two_programs_enter_from_their_loops(
    served: fs.Cluster, folder: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "inside")
    programs = [Program(ENTERING.format(path=path), folder) for _ in range(2)]
    assert [program.read() for program in programs] == ["done", "done"]
    assert [program.wait() for program in programs] == [0, 0]


ENTERING = """
import asyncio, freestone as fs
from tests.runtime.shared.test_locks import alone

async def enter(cluster):
    for _ in range(10):
        async with cluster.lock("programs"):
            await asyncio.to_thread(alone, "{path}")

async def main():
    async with fs.connect("lab") as cluster:
        await asyncio.gather(*(enter(cluster) for _ in range(3)))

asyncio.run(main())
print("done", flush=True)
"""


def test_a_coroutine_that_ends_lets_go(cluster: fs.Cluster) -> None:
    async def enter_and_wait(entered: asyncio.Event) -> None:
        async with cluster.lock("coroutine"):
            entered.set()
            await asyncio.Event().wait()

    async def cancel_both() -> None:
        entered = asyncio.Event()
        holding = asyncio.ensure_future(enter_and_wait(entered))
        await entered.wait()
        with pytest.raises(errors.LockTimeoutError, match="not free within 0"):
            await cluster.lock("coroutine", timeout_s=0.0).__aenter__()
        waiting = asyncio.ensure_future(enter_and_wait(entered))
        await asyncio.sleep(0.005)
        for one in (waiting, holding):
            one.cancel()
            with pytest.raises(asyncio.CancelledError):
                await one

    asyncio.run(cancel_both())
    assert is_free(cluster, "coroutine")


def test_a_coroutine_does_not_wait_for_itself(cluster: fs.Cluster) -> None:
    async def enter() -> None:
        async with cluster.lock("own"):
            with pytest.raises(errors.LockHeldError, match="or coroutine, has the lock 'own'"):
                await cluster.lock("own").__aenter__()
            # It would block the loop in which the lock is left.
            with pytest.raises(errors.LockHeldError):
                cluster.lock("own").__enter__()
        with cluster.lock("own"), pytest.raises(errors.LockHeldError):
            await cluster.lock("own").__aenter__()

    asyncio.run(enter())
    assert is_free(cluster, "own")


def test_an_async_task_enters(cluster: fs.Cluster) -> None:
    async def enter() -> int:
        async with here().lock("in a task"):
            return 3

    with cluster.lock("in a task"):
        both = {"cores": 2}
        waiting = cluster.submit(enter, resources=both, pure=False)
        assert cluster.submit(pow, 2, 5, resources=both, priority=-1, pure=False).result() == 32
    assert waiting.result() == 3


@pytest.mark.parametrize("n", [None, True, 0, -1, 1.5, "4", 2**32, 10**20])
def test_a_semaphore_that_is_none_is_refused(cluster: fs.Cluster, n: object) -> None:
    with pytest.raises(ValueError, match=r"n is a whole number from 1 to 4,294,967,295"):
        cluster.semaphore("bad", n)  # type: ignore[arg-type]


def test_a_timeout_that_is_none_is_refused(cluster: fs.Cluster) -> None:
    for timeout_s in (-1.0, float("nan"), "x", True):
        with pytest.raises(ValueError, match="give seconds"):
            cluster.lock("bad", timeout_s=timeout_s)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is text"):
        cluster.lock(3)  # type: ignore[arg-type]


def test_who_has_not_entered_can_not_leave(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.UsageError, match="<lock 'outside'> is left that was not entered"):
        cluster.lock("outside").__exit__(None, None, None)


def test_in_another_process_a_lock_is_nobodys(
    served: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "_open", {})
    copy = pickle.loads(pickle.dumps(served.lock("copy")))
    with pytest.raises(errors.UsageError, match="no cluster is open in this process"):
        copy.__enter__()


def test_the_end_of_the_cluster_ends_the_wait(folder: Path, served: fs.Cluster) -> None:
    with fs.connect("lab", folder=str(folder)) as connected, served.lock("ending"):
        assert "'ending'" in str(closed_during(connected, connected.lock("ending").__enter__))
    with pytest.raises(errors.ClosedError):
        connected.lock("ending").__enter__()


def test_who_has_a_lock_hears_that_the_connection_was_lost(tmp_path: Path) -> None:
    server = Program(SERVING, tmp_path)
    assert server.read() == "served"
    with fs.connect("short", folder=str(tmp_path)) as cluster:
        lock = cluster.lock("a")
        lock.__enter__()
        server.kill()
        assert until(lambda: cluster.closed)
        with pytest.raises(errors.LockLostError, match="'a' may be another's"):
            lock.__exit__(None, None, None)


SERVING = """
import freestone as fs, time
cluster = fs.Cluster(executors=1, memory="64MiB", disk="64MiB")
cluster.share("short")
print("served", flush=True)
time.sleep(600)
"""
