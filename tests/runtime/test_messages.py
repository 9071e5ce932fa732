"""What is too large for a message: it travels as a block, or is refused, and hurts nothing else."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import errors

LIMIT = 64 << 20
"""What a message carries at most."""


def add(x: int) -> int:
    return x + 1


def first(values: Any) -> int:
    return int(values[0])


def length(*values: Any) -> int:
    return sum(map(len, values))


def fail(nbytes: int) -> None:
    raise ValueError("x" * nbytes)


def many(count: int) -> tuple[bytes, ...]:
    return (b"x" * 8000,) * count


def capturing(values: Any) -> Callable[[int], int]:
    return lambda place: int(values[place])


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    """One worker with one executor, which must stay the same."""
    with fs.Cluster(executors=1, memory="512MiB", disk="1GiB") as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _nothing_else_is_hurt(cluster: fs.Cluster) -> Iterator[None]:
    """A kept block is still there, and no worker and no executor was lost."""
    kept = cluster.put(np.arange(10**5))
    executor = cluster.submit(os.getpid, pure=False).result()
    yield
    assert cluster.submit(first, kept).result() == 0
    assert [worker.worker for worker in cluster.statistics().workers] == ["worker-0"]
    assert cluster.submit(os.getpid, pure=False).result() == executor


def test_a_function_that_captures_much_is_a_block(cluster: fs.Cluster) -> None:
    function = capturing(np.arange(LIMIT // 8 + 10))
    with pytest.warns(UserWarning, match=r"brings 64 MiB along that it captures"):
        future = cluster.submit(function, 7)
    assert future.result() == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cluster.gather(cluster.map(function, range(3))) == [0, 1, 2]


@pytest.mark.parametrize("isolation", ["shared", "fork"])
def test_a_large_function_is_loaded_once(cluster: fs.Cluster, isolation: str) -> None:
    values = np.arange(10**6)
    calls = [cluster.submit(lambda: id(values), isolation=isolation, pure=False) for _ in range(3)]
    function = capturing(values)
    named = [cluster.submit(function, n, isolation=isolation, pure=False) for n in range(5)]
    assert cluster.gather(named) == list(range(5))
    assert len(set(cluster.gather(calls))) == 1


def test_a_large_function_runs_in_a_process_of_its_own(cluster: fs.Cluster) -> None:
    assert cluster.submit(capturing(np.arange(10**6)), 5, isolation="process").result() == 5


def test_large_functions_with_equal_code_are_distinguished(cluster: fs.Cluster) -> None:
    one, two = (capturing(np.full(10**6, value)) for value in (1, 2))
    assert cluster.submit(one, 0).result() == 1
    assert cluster.submit(two, 0).result() == 2


def test_what_a_large_function_captures_may_change(cluster: fs.Cluster) -> None:
    values = np.zeros(10**6)
    function = capturing(values)
    assert cluster.submit(function, 0).result() == 0
    values[0] = 5
    assert cluster.submit(function, 0).result() == 5


def test_a_large_function_is_replayed_here(cluster: fs.Cluster) -> None:
    assert cluster.submit(capturing(np.arange(10**6)), 3).replay() == 3


def test_a_large_function_reduces(cluster: fs.Cluster) -> None:
    offset = np.ones(10**6)
    total = fs.reduce(lambda x, y: int(x + y + offset[0]), cluster.scatter([1, 2, 3]))
    assert total.result() == 8


def test_variables_that_are_large(cluster: fs.Cluster, request: pytest.FixtureRequest) -> None:
    # A program is warned of equal ones once.
    env = {"LARGE": "x" * (LIMIT + 1), "TEST": request.node.name}
    with pytest.warns(UserWarning, match="brings 64 MiB along"):
        future = cluster.submit(lambda: len(__import__("os").environ["LARGE"]), env=env)
    assert future.result() == LIMIT + 1


def test_a_reducer_that_no_message_can_carry_is_refused(cluster: fs.Cluster) -> None:
    offset = np.ones(LIMIT // 8)
    with (
        pytest.warns(UserWarning, match="brings 64 MiB along"),
        pytest.raises(errors.MessageTooLargeError) as caught,
    ):
        fs.reduce(lambda x, y: x + y + offset[0], cluster.scatter([1, 2, 3]))
    assert (caught.value.part, caught.value.limit) == ("function", LIMIT)


def test_arguments_beside_futures_are_refused_in_the_program(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.MessageTooLargeError, match="put") as caught:
        cluster.submit(length, {"future": cluster.submit(add, 1), "data": b"x" * LIMIT})
    assert (caught.value.part, caught.value.label) == ("arguments", "length")


def test_small_results_that_no_message_can_carry_together(cluster: fs.Cluster) -> None:
    pieces = [cluster.put(bytes([n % 256, n // 256]) * 4000) for n in range(9000)]
    future = cluster.submit(length, *pieces)
    others = cluster.map(add, range(100))
    with pytest.raises(errors.MessageTooLargeError, match=r"fs\.reduce") as caught:
        future.result()
    assert (caught.value.part, caught.value.limit) == ("arguments", LIMIT)
    assert caught.value.nbytes > 9000 * 8000
    assert cluster.gather(others) == list(range(1, 101))
    assert cluster.submit(length, *pieces[:1000]).result() == 8_000_000


@pytest.mark.parametrize("isolation", ["shared", "fork"])
def test_small_results_of_one_call_that_no_message_can_carry(
    cluster: fs.Cluster, isolation: str
) -> None:
    options = {"isolation": isolation, "pure": False}
    futures = cluster.client.submit(many, (9000,), {}, options, 9000)
    with pytest.raises(errors.MessageTooLargeError) as caught:
        futures[0].result()
    assert caught.value.part == "result"


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_the_text_of_an_exception_is_cut(cluster: fs.Cluster, isolation: str) -> None:
    with pytest.raises(errors.TaskRaisedError, match="characters left out") as caught:
        cluster.submit(fail, LIMIT + 1, isolation=isolation, pure=False).result()
    assert caught.value.kind == "ValueError"
    assert len(str(caught.value)) < 200_000
    with pytest.raises(ValueError, match=r"x{1000}") as whole:
        cluster.submit(fail, 1000, isolation=isolation, pure=False).result()
    assert str(whole.value) == "x" * 1000


def test_results_that_travel_in_messages_have_a_limit() -> None:
    with pytest.raises(errors.ConfigurationError, match="at most 16 MiB"):
        fs.Cluster(inline_nbytes="1GiB")
