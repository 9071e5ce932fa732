"""Streams: elements while the generator runs, look-ahead, ends, and what is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.runtime.serving import Program
from tests.waiting import until


def squares(n: int) -> Iterator[int]:
    for k in range(n):
        yield k * k


def numbers(folder: str) -> Iterator[int]:
    """Yield without end, and say in a folder how far it is and when it is closed."""
    k = 0
    try:
        while True:
            Path(folder, str(k)).touch()
            yield k
            k += 1
    finally:
        Path(folder, "closed").touch()


def is_closed(folder: Path) -> bool:
    return until((folder / "closed").exists)


def test_elements_come_in_order_and_are_arguments(cluster: fs.Cluster) -> None:
    stream = cluster.stream(squares, 40, look_ahead=3)
    roots = [cluster.submit(pow, square, 0.5) for square in stream]
    assert cluster.gather(roots) == list(range(40))
    assert list(stream) == []
    assert "40 taken" in repr(stream)
    assert "closed" in repr(stream)
    assert list(cluster.stream(squares, 0)) == []


def test_elements_come_while_the_generator_runs(cluster: fs.Cluster) -> None:
    gate = cluster.variable("gate")

    def two() -> Iterator[Any]:
        yield np.arange(50_000)
        yield gate.get()

    stream = cluster.stream(two)
    first = next(stream)
    assert first.label.endswith("two[0]")
    assert cluster.submit(np.sum, first).result() == 1_249_975_000
    gate.set(7)
    assert [one.result() for one in stream] == [7]
    gate.delete()


def test_the_generator_waits_at_the_look_ahead_and_takes_nothing(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    streams = []
    for k in range(3):
        (tmp_path / str(k)).mkdir()
        both = {"cores": 2}
        streams.append(
            cluster.stream(numbers, str(tmp_path / str(k)), look_ahead=2, resources=both)
        )
    # Each takes all there is, and all get to the element for which there is no room.
    for k in range(3):
        assert until((tmp_path / str(k) / "2").exists)
    assert cluster.submit(pow, 2, 10, resources=both, pure=False).result() == 1024
    for k, stream in enumerate(streams):
        assert not (tmp_path / str(k) / "3").exists()
        assert [next(stream).result() for _ in range(5)] == [0, 1, 2, 3, 4]
        stream.close()
        assert list(stream) == []
        assert is_closed(tmp_path / str(k))


def test_an_error_comes_after_what_was_yielded_before(cluster: fs.Cluster) -> None:
    def failing() -> Iterator[int]:
        yield from range(20)
        raise LookupError("no more")

    stream = cluster.stream(failing, look_ahead=30)
    assert [next(stream).result() for _ in range(20)] == list(range(20))
    with pytest.raises(LookupError, match="no more"):
        next(stream)
    assert list(stream) == []


def test_a_stream_that_is_dropped_closes_its_generator(cluster: fs.Cluster, tmp_path: Path) -> None:
    for future in cluster.stream(numbers, str(tmp_path)):
        assert future.result() == 0
        break
    assert is_closed(tmp_path)


def test_a_stream_that_was_never_read_ends(cluster: fs.Cluster, tmp_path: Path) -> None:
    stream = cluster.stream(numbers, str(tmp_path), look_ahead=1)
    assert until((tmp_path / "1").exists)
    del stream
    assert is_closed(tmp_path)


def test_a_cancelled_stream_ends_while_it_computes(cluster: fs.Cluster) -> None:
    gate = cluster.variable("never")

    def stuck() -> Iterator[Any]:
        yield 1
        yield gate.get()

    stream = cluster.stream(stuck)
    assert next(stream).result() == 1
    cluster.cancel(stream)
    assert list(stream) == []
    assert until(lambda: cluster.statistics().assigned == 0)


def test_restarting_ends_streams_after_what_was_taken(served: fs.Cluster, tmp_path: Path) -> None:
    stream = served.stream(numbers, str(tmp_path))
    assert next(stream).result() == 0
    served.restart()
    with pytest.raises(errors.TaskCancelledError):
        list(stream)


async def delayed(n: int) -> AsyncIterator[int]:
    for k in range(n):
        await asyncio.sleep(0)
        yield k


def test_async_generators_and_readers(cluster: fs.Cluster) -> None:
    assert [one.result() for one in cluster.stream(delayed, 20, look_ahead=2)] == list(range(20))

    async def read(function: Any) -> list[Any]:
        return [await one async for one in cluster.stream(function, 10, look_ahead=2)]

    async def both() -> list[list[Any]]:
        return await asyncio.gather(read(squares), read(delayed))

    assert asyncio.run(both()) == [[k * k for k in range(10)], list(range(10))]


def test_an_async_generator_is_closed(cluster: fs.Cluster, tmp_path: Path) -> None:
    async def endless(folder: str) -> AsyncIterator[int]:
        try:
            while True:
                yield 0
        finally:
            await asyncio.sleep(0)
            Path(folder, "closed").touch()

    assert next(cluster.stream(endless, str(tmp_path))).result() == 0
    assert is_closed(tmp_path)


def test_a_reader_that_is_cancelled_loses_nothing(cluster: fs.Cluster) -> None:
    gate = cluster.variable("late")

    def late() -> Iterator[Any]:
        yield gate.get()
        yield 2

    async def read() -> list[Any]:
        stream = cluster.stream(late)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(stream)
        await asyncio.to_thread(gate.set, 1)
        return [await one async for one in stream]

    assert asyncio.run(read()) == [1, 2]
    gate.delete()


def test_a_task_reads_a_stream_of_its_own(cluster: fs.Cluster, tmp_path: Path) -> None:
    def total(n: int, folder: str) -> int:
        here = fs.current()
        assert here is not None
        here.leak = here.stream(numbers, folder)  # type: ignore[attr-defined]
        return sum(one.result() for one in here.stream(squares, n, look_ahead=2))

    call = cluster.submit(total, 10, str(tmp_path), resources={"cores": 2}, pure=False)
    assert call.result() == 285
    # What it has left behind ends with it.
    assert is_closed(tmp_path)


def dying(mark: str, n: int) -> Iterator[Any]:
    for k in range(n):
        if k == n // 2 and not os.path.exists(mark):
            Path(mark).touch()
            os._exit(9)
        yield np.full(20_000, k)


def test_a_generator_that_runs_again_gives_each_element_once(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    stream = cluster.stream(dying, str(tmp_path / "tried"), 20, look_ahead=3)
    assert [one.result()[0] for one in stream] == list(range(20))

    stream = cluster.stream(dying, str(tmp_path / "again"), 20, look_ahead=3, pure=False)
    assert [next(stream).result()[0] for _ in range(10)] == list(range(10))
    with pytest.raises(errors.StreamRestartedError, match=r"'.*dying' ran again after 10 of"):
        next(stream)


def test_a_generator_that_gives_fewer_when_it_is_tried_again(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    def fewer(mark: str) -> Iterator[int]:
        yield from range(3)
        if not os.path.exists(mark):
            Path(mark).touch()
            yield 3
            raise ValueError("once")

    stream = cluster.stream(fewer, str(tmp_path / "tried"), retries=1)
    with pytest.raises(errors.StreamRestartedError, match="after 4 of"):
        list(stream)


def test_elements_of_a_lost_worker_come_again(tmp_path: Path) -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:

        def large(n: int) -> Iterator[Any]:
            here = fs.current()
            assert here is not None
            yield here.client.task_worker
            for k in range(n):
                Path(tmp_path, str(k)).touch()
                yield np.full(20_000, k)

        stream = cluster.stream(large, 12, look_ahead=3)
        name = f"worker-{next(stream).result()}"
        assert next(stream).result()[0] == 0
        # Three more lie there, and one waits for room.
        assert until((tmp_path / "4").exists)
        worker = next(one for one in cluster.client.workers() if one["worker"] == name)
        os.kill(worker["pid"], signal.SIGKILL)
        assert until(lambda: all(one["worker"] != name for one in cluster.client.workers()))
        assert [one.result()[0] for one in stream] == list(range(1, 12))


def test_a_stream_dies_with_its_program(served: fs.Cluster, folder: Path, tmp_path: Path) -> None:
    blocks = served.statistics().blocks
    program = Program(READING.format(folder=str(tmp_path)), folder)
    assert program.read() == "0"
    program.kill()
    assert until(lambda: served.statistics().assigned == 0)
    assert until(lambda: served.statistics().blocks <= blocks)


READING = """
import freestone as fs, time
from tests.runtime.shared.test_streams import numbers
cluster = fs.connect("lab")
stream = cluster.stream(numbers, "{folder}")
print(next(stream).result(), flush=True)
time.sleep(600)
"""


def test_bad_use_is_refused(cluster: fs.Cluster) -> None:
    for look_ahead in (0, -1, True, 1.5, "3", None, 2**32):
        with pytest.raises(ValueError, match="a whole number from 1 to 4,294,967,295"):
            cluster.stream(squares, 3, look_ahead=look_ahead)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option keep=: an element stays"):
        cluster.stream(squares, 3, keep="session")
    with pytest.raises(TypeError, match="a call has no option 'm'"):
        cluster.stream(squares, m=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="which can't be called"):
        cluster.stream(squares(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a function that yields.* returned 3 \(int\)"):
        list(cluster.stream(abs, -3))  # type: ignore[arg-type]
    with pytest.raises(errors.NotSerializableError, match="read where it was opened"):
        cluster.submit(len, cluster.stream(squares, 3))

    with pytest.raises(errors.NotSerializableError, match=r"cluster\.stream gives what it yields"):
        cluster.submit(squares, 3).result()

    def unsendable() -> Iterable[Any]:
        yield 1
        yield (one for one in [2])

    stream = cluster.stream(unsendable)
    assert next(stream).result() == 1
    with pytest.raises(errors.NotSerializableError) as caught:
        next(stream)
    assert any("unsendable[1]" in note for note in caught.value.__notes__)


def test_one_at_a_time_reads_a_stream(cluster: fs.Cluster) -> None:
    gate = cluster.variable("two readers")

    def gated() -> Iterator[Any]:
        yield gate.get()

    async def read() -> Any:
        stream = cluster.stream(gated)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(errors.UsageError, match="another thread or coroutine waits for"):
            await anext(stream)
        await asyncio.to_thread(gate.set, 5)
        return await (await first)

    assert asyncio.run(read()) == 5
    gate.delete()


def test_the_end_of_the_cluster_ends_the_wait(folder: Path, served: fs.Cluster) -> None:
    gate = served.variable("end")

    def gated() -> Iterator[Any]:
        yield gate.get()

    with fs.connect("lab", folder=str(folder)) as connected:
        stream = connected.stream(gated)
    with pytest.raises(errors.ClosedError):
        next(stream)
