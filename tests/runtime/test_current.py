"""Which cluster a call takes that names none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

import freestone as fs


def opened() -> fs.Cluster:
    return fs.Cluster(executors=1, memory="64MiB", disk="64MiB")


def in_thread(function: Callable[[], None]) -> None:
    """Run a function on a thread of its own, to its end."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def outer() -> Iterator[fs.Cluster]:
    with opened() as cluster:
        yield cluster


@fs.task
def negate(x: int) -> int:
    return -x


def test_the_innermost_is_current_whichever_was_opened_last(outer: fs.Cluster) -> None:
    with opened() as inner:
        assert fs.current() is inner
        with outer:
            assert fs.current() is outer
        assert fs.current() is inner
    assert fs.current() is None


def test_another_thread_does_not_take_the_calls_of_this_one(outer: fs.Cluster) -> None:
    is_open, is_over = threading.Event(), threading.Event()

    def use_another() -> None:
        with opened() as other:
            assert fs.current() is other
            is_open.set()
            assert is_over.wait(60)

    thread = threading.Thread(target=use_another)
    thread.start()
    assert is_open.wait(60)
    future = negate(1)
    assert fs.current() is outer
    is_over.set()
    thread.join()
    assert future.result(60) == -1
    assert outer.statistics().done == 1


def test_a_thread_that_opens_none_has_that_of_the_main_thread(outer: fs.Cluster) -> None:
    def check() -> None:
        assert fs.current() is outer

    def open_another() -> None:
        with opened() as other:
            in_thread(check)
            assert fs.current() is other
        assert fs.current() is outer

    in_thread(check)
    in_thread(open_another)


def test_tasks_of_asyncio_have_the_cluster_of_the_one_that_starts_them() -> None:
    async def run() -> None:
        async with opened() as cluster:
            assert await asyncio.create_task(_current()) is cluster

    async def _current() -> fs.Cluster | None:
        return fs.current()

    asyncio.run(run())
    assert fs.current() is None
