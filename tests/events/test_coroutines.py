"""What tasks return, and tasks that are coroutines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from freestone import events as ev
from freestone.errors import (
    BadEventError,
    EventTimeoutError,
    RunStuckError,
    TaskRemovedError,
    UsageError,
)


def run(main: Any, **options: Any) -> Any:
    return ev.run(main, ranks=1, threads=True, **options)[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_many_coroutines_pause_on_few_workers(workers: int) -> None:
    async def add(number: int) -> int:
        rank = ev.current()
        total = number
        for step in range(3):
            (event,) = await rank.arrival([(ev.SELF, f"{number}, {step}")])
            total += event.data
        return total

    def main(rank: ev.Rank) -> list[int]:
        futures = [rank.submit(lambda number=number: add(number)) for number in range(50)]
        for step in range(3):
            for number in reversed(range(50)):
                rank.fire(ev.SELF, f"{number}, {step}", 100)
        return [future.result() for future in futures]

    assert run(main, workers=workers) == [number + 300 for number in range(50)]


def test_events_come_from_other_ranks_in_the_order_of_the_dependencies() -> None:
    async def collect(first: ev.Event) -> list[int]:
        rank = ev.current()
        events = await rank.arrival([(ev.ALL, "part"), (0, "last")])
        return [first.data, *(event.data for event in events)]

    def main(rank: ev.Rank) -> list[int] | None:
        future = rank.submit(collect, on=[(0, "first")]) if rank.id == 1 else None
        rank.fire(1, "part", 10 + rank.id)
        if rank.id == 0:
            rank.fire(1, "last", 7)
            rank.fire(1, "first", 5)
        return None if future is None else future.result()

    assert ev.run(main, ranks=3, threads=True) == [None, [5, 10, 11, 12, 7], None]


def test_futures_are_awaited_and_waited_for() -> None:
    def main(rank: ev.Rank) -> tuple[Any, ...]:
        half = rank.submit(lambda event: event.data, on=[(ev.SELF, "half")])

        async def twice() -> int:
            return await half + await half

        doubled = rank.submit(twice)
        waited = rank.submit(lambda: doubled.result())
        assert not half.done()
        assert repr(half).startswith("<TaskFuture of ")
        rank.fire(ev.SELF, "half", 21)
        found = (waited.result(), doubled.result(10), half.done(), half.result())
        return (*found, rank.submit(lambda: None).result())

    assert run(main) == (42, 42, True, 21, None)


def test_a_wait_that_ends_early_leaves_nothing_behind() -> None:
    def main(rank: ev.Rank) -> int:
        late = rank.submit(lambda event: event.data, on=[(ev.SELF, "late")])
        for _ in range(3):
            with pytest.raises(EventTimeoutError):
                late.result(0.001)
        rank.fire(ev.SELF, "late", 3)
        found = late.result()
        # An event that nobody took would keep it from its end.
        rank.drain()
        return found

    assert run(main) == 3


def test_then_and_persistent_tasks() -> None:
    async def echo(event: ev.Event) -> int:
        (more,) = await ev.current().arrival([(ev.SELF, f"more {event.data}")])
        return event.data + more.data

    def main(rank: ev.Rank) -> tuple[Any, ...]:
        future = rank.submit(echo, on=[(ev.SELF, "go")], persistent=True, then="echoed")
        for number in range(3):
            rank.fire(ev.SELF, "go", number)
            rank.fire(ev.SELF, f"more {number}", 10)
        echoed = [rank.wait([(ev.SELF, "echoed")])[0].data for _ in range(3)]
        return sorted(echoed), future.done(), future.result() in echoed

    assert run(main) == ([10, 11, 12], True, True)


def test_locks_are_let_go_at_a_pause() -> None:
    async def holds() -> None:
        rank = ev.current()
        rank.lock("one")
        await rank.arrival([(ev.SELF, "go on")])

    def main(rank: ev.Rank) -> bool:
        future = rank.submit(holds)
        rank.submit(lambda: rank.lock("one")).result()
        rank.fire(ev.SELF, "go on")
        return future.result() is None

    assert run(main, workers=2)


def test_locks_are_taken_back_after_a_pause_in_their_order() -> None:
    async def holds() -> tuple[list[str], list[str]]:
        rank = ev.current()
        rank.lock("two")
        rank.lock("one")
        rank.fire(ev.SELF, "paused")
        await rank.arrival([(ev.SELF, "go on")])
        after_event = rank.held_locks()
        rank.unlock("two")
        await rank.submit(lambda: rank.lock("one"))
        return after_event, rank.held_locks()

    def main(rank: ev.Rank) -> tuple[list[str], list[str]]:
        future = rank.submit(holds)
        rank.fire(ev.SELF, "go on")
        rank.submit(lambda _: None, on=[(ev.SELF, "paused")])
        return future.result()

    assert run(main, workers=2) == (["two", "one"], ["one"])


def test_what_a_coroutine_raises_after_a_pause_ends_the_run() -> None:
    async def fails() -> None:
        await ev.current().arrival([(ev.SELF, "go on")])
        raise KeyError("no such thing")

    def main(rank: ev.Rank) -> None:
        rank.submit(fails, name="the failing one")
        rank.fire(ev.SELF, "go on")

    with pytest.raises(KeyError, match="no such thing") as caught:
        run(main)
    assert "the failing one" in "".join(caught.value.__notes__)


def test_a_coroutine_that_waits_in_vain_is_named() -> None:
    async def waits() -> None:
        await pauses()

    async def pauses() -> None:
        await ev.current().arrival([(ev.SELF, "never")])

    with pytest.raises(RunStuckError) as caught:
        run(lambda rank: rank.submit(waits, name="the waiting one") and None)
    line = pauses.__code__.co_firstlineno + 1
    wanted = f"task 'the waiting one' ({__file__}:{line}) lacks 'never'"
    assert wanted in str(caught.value.report)


def test_what_needs_the_loop_of_asyncio_is_refused() -> None:
    async def sleeps() -> None:
        await asyncio.sleep(0.1)

    async def yields() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="no running event loop") as caught:
        run(lambda rank: rank.submit(sleeps) and None)
    assert "with asyncio.run()" in "".join(caught.value.__notes__)
    with pytest.raises(UsageError, match=r"awaits None; coroutines of freestone"):
        run(lambda rank: rank.submit(yields) and None)
    assert run(lambda rank: rank.submit(lambda: asyncio.run(plain())).result()) == 5


async def plain() -> int:
    await asyncio.sleep(0.001)
    return 5


async def conversation(rank: ev.Rank, first: int) -> list[int]:
    future = rank.submit(lambda event: event.data + 1, on=[(ev.SELF, "number")])
    rank.fire(ev.ALL, "number", first + rank.id)
    events = await rank.arrival([(1 - rank.id, "number")])
    return [await future, events[0].data]


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "processes"])
def test_a_program_may_be_a_coroutine(threads: bool) -> None:
    found = ev.run(conversation, ranks=2, args=[10], threads=threads)
    assert found == [[11, 11], [12, 10]]


def test_a_program_that_awaits_something_else_is_named() -> None:
    async def main(rank: ev.Rank) -> None:
        await asyncio.sleep(0.01 + rank.id)

    with pytest.raises(RuntimeError, match="no running event loop") as caught:
        run(main)
    assert any("asyncio.run()" in note for note in caught.value.__notes__)


def test_the_result_of_a_removed_task_is_an_error_at_once() -> None:
    def main(rank: ev.Rank) -> list[str]:
        async def waits() -> str:
            try:
                return str(await futures[0])
            except TaskRemovedError as error:
                return str(error)

        def late(_: object) -> None: ...

        futures = [rank.submit(late, on=[(0, "never")], name="late") for _ in range(2)]
        waiting = rank.submit(waits)
        rank.after(0.01, "now")
        rank.wait([(0, "now")])
        assert not futures[1].done()
        assert rank.remove("late") == 2
        assert futures[1].done()
        with pytest.raises(TaskRemovedError, match="late was removed before it ran"):
            futures[1].result()
        return [waiting.result(), repr(futures[0])]

    text, shown = run(main, workers=1)
    assert "was removed before it ran" in text
    assert shown.endswith("late, removed>")


def test_a_clock_that_ticks_without_a_pause_is_refused() -> None:
    def main(rank: ev.Rank) -> None:
        with pytest.raises(BadEventError, match="an event every 0ns is too often"):
            rank.every(0, "tick")

    run(main)
