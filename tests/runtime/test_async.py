"""Coroutine functions as tasks, and clusters in programs that have an event loop."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.waiting import until


async def add(x: int, y: int) -> int:
    await asyncio.sleep(0)
    return x + y


def plain_add(x: int, y: int) -> int:
    return x + y


class Adder:
    def __init__(self, x: int) -> None:
        self.x = x

    async def add(self, y: int) -> int:
        return await add(self.x, y)

    async def __call__(self, y: int) -> int:
        return await self.add(y)


@fs.task
async def double(x: int) -> int:
    return await add(x, x)


async def wait_for(gate: str) -> int:
    Path(gate + "-running").touch()
    while not os.path.exists(gate):
        await asyncio.sleep(0.005)
    return 1


# -- coroutine functions as tasks -------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (add, (3, 4)),
        (functools.partial(add, 3), (4,)),
        (functools.partial(functools.partial(add), 3), (4,)),
        (Adder(3).add, (4,)),
        (Adder(3), (4,)),
        (double.options(name="seven"), (3.5,)),
    ],
)
def test_a_coroutine_function_runs_to_its_end(
    cluster: fs.Cluster, function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    assert cluster.submit(function, *args).result() == 7


def test_it_is_a_task_like_any_other(cluster: fs.Cluster) -> None:
    futures = cluster.map(add, range(20), [1] * 20)
    assert cluster.gather(futures) == list(range(1, 21))
    # Its value is an argument, and the same call is answered by what is there.
    assert cluster.submit(plain_add, futures[3], 1).result() == 5
    assert cluster.submit(add, 3, 1).name == futures[3].name
    assert futures[3].replay() == 4
    assert double(4).result() == 8


@pytest.mark.parametrize("isolation", ["fork", "process"])
def test_it_runs_in_isolation(cluster: fs.Cluster, isolation: Any) -> None:
    assert cluster.submit(add, 5, 6, isolation=isolation, pure=False).result() == 11


def test_it_has_its_variables_to_its_end(cluster: fs.Cluster) -> None:
    async def variable() -> str | None:
        await asyncio.sleep(0)
        return os.environ.get("COLOUR")

    assert cluster.submit(variable, env={"COLOUR": "red"}).result() == "red"
    assert cluster.submit(variable, pure=False).result() is None


def test_it_raises_what_it_raises(cluster: fs.Cluster) -> None:
    async def fails() -> None:
        raise KeyError("lost")

    async def gives_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(KeyError, match="lost"):
        cluster.submit(fails).result()
    with pytest.raises(errors.TaskRaisedError):
        cluster.submit(gives_up).result()


def test_its_own_tasks_are_awaited_in_it(cluster: fs.Cluster) -> None:
    async def parent() -> list[int]:
        cluster = fs.current()
        assert cluster is not None
        children = [cluster.submit(plain_add, k, k) for k in range(4)]
        first = list(await asyncio.gather(*children))
        return first + sorted([await child async for child in cluster.as_completed(children)])

    assert cluster.submit(parent).result() == [0, 2, 4, 6, 0, 2, 4, 6]


def test_to_cancel_it_ends_it(cluster: fs.Cluster, tmp_path: Path) -> None:
    gate = str(tmp_path / "never")
    future = cluster.submit(wait_for, gate)
    assert until(lambda: os.path.exists(gate + "-running"))
    assert future.cancel()
    assert until(lambda: cluster.statistics().pending == 0)
    assert cluster.submit(add, 1, 1, pure=False).result() == 2


def test_without_a_cluster_it_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.client.opened._open", {})

    async def main() -> int:
        value: Any = double(4)
        return int(await value)

    assert asyncio.run(main()) == 8


# -- programs with an event loop --------------------------------------------------------------


def test_the_loop_goes_on_while_a_call_is_awaited(cluster: fs.Cluster, tmp_path: Path) -> None:
    """What opens the gate runs in the loop of what waits behind it."""

    async def main() -> int:
        gate = tmp_path / "gate"
        future = cluster.submit(wait_for, str(gate))
        waits: asyncio.Future[int] = asyncio.ensure_future(future)
        while not os.path.exists(f"{gate}-running"):
            await asyncio.sleep(0.001)
        gate.touch()
        return await waits

    assert asyncio.run(main()) == 1


def test_large_values_come_on_another_thread(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    result = fs.Future.result

    def noted(self: fs.Future, timeout_s: float | None = None) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return result(self, timeout_s)

    monkeypatch.setattr(fs.Future, "result", noted)

    async def main() -> tuple[int, int]:
        return (await cluster.submit(np.arange, 100_000))[-1], await cluster.submit(add, 1, 2)

    assert asyncio.run(main()) == (99_999, 3)
    assert threads == [False, True]


def test_futures_come_as_they_are_done(cluster: fs.Cluster, tmp_path: Path) -> None:
    async def main() -> list[int]:
        gate = tmp_path / "gate"
        last = cluster.submit(wait_for, str(gate))
        seen = []
        async for future in fs.as_completed([last, *cluster.map(add, range(9), [9] * 9), last]):
            seen.append(future.result())
            if len(seen) == 9:
                gate.touch()
        return seen

    seen = asyncio.run(main())
    assert sorted(seen[:9]) == list(range(9, 18))
    assert seen[9:] == [1]


def test_to_stop_waiting_leaves_nothing_behind(cluster: fs.Cluster, tmp_path: Path) -> None:
    never = cluster.submit(wait_for, str(tmp_path / "never"))

    async def main() -> None:
        with pytest.raises(errors.WaitTimeoutError) as caught:
            async for _ in fs.as_completed([never], timeout_s=0.01):
                pass
        assert caught.value.pending == 1
        async for future in cluster.as_completed([never, cluster.submit(add, 7, 7)]):
            assert await future == 14
            break

    asyncio.run(main())
    assert cluster.client._callbacks._waiting == {}
    never.cancel()


def test_to_cancel_what_awaits_cancels_the_call(cluster: fs.Cluster, tmp_path: Path) -> None:
    future = cluster.submit(wait_for, str(tmp_path / "never"))

    async def main() -> None:
        waits: asyncio.Future[int] = asyncio.ensure_future(future)
        await asyncio.sleep(0)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits

    asyncio.run(main())
    assert until(future.cancelled)


@pytest.fixture
def closed_on(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each client was closed on the program's main thread."""
    from freestone.client.local import LocalClient

    threads: list[bool] = []
    close = LocalClient.close

    def noted(self: LocalClient) -> None:
        threads.append(threading.current_thread() is threading.main_thread())
        close(self)

    monkeypatch.setattr(LocalClient, "close", noted)
    return threads


def test_a_cluster_is_opened_and_closed_in_a_loop(closed_on: list[bool]) -> None:
    async def main() -> fs.Cluster:
        opening = asyncio.to_thread(fs.Cluster, executors=1, memory="32MiB", disk="32MiB")
        async with await opening as cluster:
            assert await cluster.submit(add, 20, 3) == 23
            async with fs.connect(cluster.access) as same:
                assert fs.current() is same
                assert await same.submit(add, 20, 4) == 24
            assert same.closed
            assert not cluster.closed
        return cluster

    assert asyncio.run(main()).closed
    assert closed_on == [False, False]
