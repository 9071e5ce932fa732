from __future__ import annotations

import asyncio
import concurrent.futures
import operator
from collections.abc import Iterator
from typing import Any

import pytest

from freestone.compat.concurrent import Executor
from tests.compat import conftest
from tests.compat.fake import FakeCluster, Gate


@pytest.fixture
def executor(fake: FakeCluster) -> Iterator[Executor]:
    with Executor(fake) as made:
        yield made


def through_gate() -> str:
    conftest.GATES["gate"].wait()
    return "through"


def test_futures_are_those_of_the_standard_library(executor: Executor) -> None:
    futures = [executor.submit(pow, base, 2) for base in range(5)]
    done, left = concurrent.futures.wait(futures, timeout=30)
    assert not left
    assert {future.result() for future in done} == {0, 1, 4, 9, 16}
    assert all(isinstance(future, concurrent.futures.Future) for future in futures)
    assert set(concurrent.futures.as_completed(futures)) == set(futures)


def test_what_a_call_raises_is_raised(executor: Executor) -> None:
    future = executor.submit(operator.truediv, 1, 0)
    with pytest.raises(ZeroDivisionError):
        future.result(30)
    assert isinstance(future.exception(), ZeroDivisionError)


def test_asyncio_takes_them(executor: Executor) -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        one = asyncio.wrap_future(executor.submit(pow, 2, 3))
        two = loop.run_in_executor(executor, pow, 2, 4)
        return await one + await two

    assert asyncio.run(main()) == 24


def test_keywords_that_are_options_reach_the_call(fake: FakeCluster, executor: Executor) -> None:
    def echo(**keywords: Any) -> dict[str, Any]:
        return keywords

    assert executor.submit(echo, name=1, priority=2, other=3).result(30) == {
        "name": 1,
        "priority": 2,
        "other": 3,
    }
    assert fake.calls[-1][2] == {"name": None, "priority": 0, "pure": False}


def test_options_go_to_every_call(fake: FakeCluster) -> None:
    with Executor(fake, name="mine", priority=3, pure=True) as executor:
        executor.submit(pow, 1, 1).result(30)
    assert fake.calls[-1][2] == {"name": "mine", "priority": 3, "pure": True}


@pytest.mark.parametrize("chunksize", [1, 2, 7, 100])
def test_map_keeps_the_order(fake: FakeCluster, executor: Executor, chunksize: int) -> None:
    results = executor.map(pow, range(20), [2] * 10, chunksize=chunksize)
    assert list(results) == [base**2 for base in range(10)]
    assert len(fake.calls) == -(-10 // chunksize)


def test_map_refuses_a_chunksize_of_nothing(executor: Executor) -> None:
    with pytest.raises(ValueError, match="chunksize must be >= 1"):
        executor.map(pow, [1], [1], chunksize=0)


@pytest.mark.parametrize("chunksize", [1, 2])
def test_map_raises_in_its_place(executor: Executor, chunksize: int) -> None:
    results = executor.map(operator.floordiv, [4, 4, 4], [2, 0, 1], chunksize=chunksize)
    with pytest.raises(ZeroDivisionError):
        list(results)


def test_map_has_a_timeout(executor: Executor, gate: Gate) -> None:
    results = executor.map(lambda _: through_gate(), [1], timeout=0)
    with pytest.raises(TimeoutError):
        next(results)
    gate.opened.set()


def test_cancel_ends_waiting(executor: Executor, gate: Gate) -> None:
    future = executor.submit(through_gate)
    assert gate.begun.acquire(timeout=30)
    assert future.cancel()
    assert future.cancel()
    assert future.cancelled()
    assert concurrent.futures.wait([future], timeout=30).done == {future}
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()


def test_what_the_cluster_cancels_is_cancelled(
    fake: FakeCluster, executor: Executor, gate: Gate
) -> None:
    future: Any = executor.submit(through_gate)
    assert gate.begun.acquire(timeout=30)
    future._inner.cancel()
    assert future.cancelled()


def test_what_is_done_can_not_be_cancelled(executor: Executor) -> None:
    future = executor.submit(pow, 2, 2)
    assert future.result(30) == 4
    assert not future.cancel()


def test_only_its_call_gives_a_future_its_value(executor: Executor, gate: Gate) -> None:
    future = executor.submit(through_gate)
    assert gate.begun.acquire(timeout=30)
    for resolve in (lambda: future.set_result("set"), lambda: future.set_exception(ValueError())):
        with pytest.raises(
            concurrent.futures.InvalidStateError, match="gets its value or error from"
        ):
            resolve()
    gate.opened.set()
    assert future.result(30) == "through"


def test_after_shutdown_there_are_no_calls(fake: FakeCluster, gate: Gate) -> None:
    executor = Executor(fake)
    future = executor.submit(through_gate)
    executor.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(pow, 1, 1)
    gate.opened.set()
    executor.shutdown()
    assert future.result(0) == "through"
    assert not fake.closed


def test_shutdown_cancels(fake: FakeCluster, gate: Gate) -> None:
    executor = Executor(fake)
    futures = [executor.submit(through_gate) for _ in range(5)]
    assert gate.begun.acquire(timeout=30)
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in futures)
