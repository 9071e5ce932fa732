"""Typical uses: checkers have nothing to say, and know each type."""

import operator
from collections.abc import Iterator
from typing import Any, assert_type

import freestone as fs
from freestone import Future


@fs.task
def half(x: int) -> float:
    return x / 2


@fs.task(retries=2, keep="session")
def label(x: float, name: str = "none") -> str:
    return f"{name}: {x}"


def length(text: str) -> int:
    return len(text)


def letters(text: str) -> Iterator[str]:
    yield from text


async def fetched(url: str) -> bytes:
    return url.encode()


def of_calls(cluster: fs.Cluster) -> None:
    lengths = cluster.map(length, ["one", "three"], name="length", priority=1)
    assert_type(lengths, list[Future[int]])
    assert_type(cluster.gather(lengths), list[int])
    assert_type(cluster.gather({"one": lengths[0]}), dict[str, int])
    assert_type(cluster.submit(length, "four").result(timeout_s=3), int)
    assert_type(cluster.run(length, "four", workers=0), dict[str, int])
    assert_type(cluster.put("a value", keep="worker"), Future[str])
    assert_type(cluster.wait(lengths).done, set[Future[int]])
    for each in cluster.as_completed(lengths):
        assert_type(each, Future[int])
    for letter in cluster.stream(letters, "five", look_ahead=2, priority=1):
        assert_type(letter, Future[str])
    assert_type(fs.reduce(max, lengths, commutes=True).result(), int)
    assert_type(fs.reduce(operator.add, [1, 2, 3]), Future[int])


def of_tasks() -> None:
    halved = half(4)
    assert_type(halved, Future[float])
    # A future stands for the value in the call of a task.
    assert_type(label(halved, name="half"), Future[str])
    assert_type(half.map(range(3)), list[Future[float]])
    assert_type(half.options(priority=3)(1).result(), float)


async def of_coroutines(cluster: fs.Cluster) -> None:
    count: int = await cluster.submit(length, "five")
    print(count)
    assert_type(fs.task(fetched)("five").result(), bytes)
    async for each in fs.as_completed(cluster.map(length, ["six"])):
        assert_type(each, Future[int])
    async with fs.Cluster() as other:
        assert_type(other, fs.Cluster)


def of_untyped(cluster: fs.Cluster, function: Any) -> None:
    assert_type(cluster.submit(function, 1).result(), Any)


def of_clusters() -> None:
    with fs.Cluster(executors=2, memory="1GiB", disk=1 << 30, cache="kept") as cluster:
        of_calls(cluster)
    with fs.Cluster.on_mpi(executors=1, retries=2) as cluster:
        of_calls(cluster)
