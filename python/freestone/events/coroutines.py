"""Coroutines: tasks, whose rest is a task that needs what they wait for, and programs."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterable, Sequence
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from freestone.errors import UsageError

if TYPE_CHECKING:
    from freestone._native.events import Event, TaskFuture
    from freestone.events.rank import Rank

__all__ = ["Arrival", "awaited", "begin", "complete"]

_NOT_ASYNCIO = (
    "coroutines of freestone.events await rank.arrival(...) and what rank.submit() returns; put "
    "what needs asyncio's event loop into a plain function, with asyncio.run()"
)


class Arrival:
    """Events that a coroutine waits for: ``await`` gives them in the order of the dependencies.

    Made by `Rank.arrival`.

    Attributes
    ----------
    on : list of tuple
        The dependencies: a rank or several, and an identifier.
    """

    __slots__ = ("on",)

    def __init__(self, on: Iterable[tuple[int | Sequence[int], str]]) -> None:
        self.on: list[tuple[int | Sequence[int], str]] = list(on)

    def __await__(self) -> Generator[Arrival, list[Event], list[Event]]:
        """Pause until they are there."""
        return (yield self)


def awaited(future: TaskFuture) -> Generator[Arrival, list[Event], Any]:
    """Pause until a task has returned; its value."""
    needed = future.awaited()
    if needed is not None:
        yield Arrival([needed])
    return future.result()


def begin(rank: Rank, coroutine: Coroutine[Any, Any, Any], label: str, future: TaskFuture) -> None:
    """Run a coroutine that is a task, up to its first pause."""
    _go_on(rank, coroutine, label, future, None)


def _resume(
    rank: Rank,
    coroutine: Coroutine[Any, Any, Any],
    label: str,
    future: TaskFuture,
    locks: Sequence[str],
    *events: Event,
) -> None:
    for name in locks:
        rank.lock(name)
    _go_on(rank, coroutine, label, future, list(events))


def _go_on(
    rank: Rank,
    coroutine: Coroutine[Any, Any, Any],
    label: str,
    future: TaskFuture,
    events: list[Event] | None,
) -> None:
    try:
        wanted = _wanted(coroutine, f"the task {label}", events)
    except StopIteration as end:
        future.fulfil(end.value)
        return
    # The end of this call lets go of them.
    rest = partial(_resume, rank, coroutine, label, future, rank.held_locks())
    rank.submit_rest(rest, wanted.on, label, _place(coroutine))


def complete(rank: Rank, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that is a program, which waits where a task would pause; what it returns."""
    events: list[Event] | None = None
    while True:
        try:
            wanted = _wanted(coroutine, "main", events)
        except StopIteration as end:
            return end.value
        events = rank.wait(wanted.on)


def _wanted(coroutine: Coroutine[Any, Any, Any], who: str, events: list[Event] | None) -> Arrival:
    """Let a coroutine go on, up to its next pause; StopIteration has what it returned."""
    try:
        wanted = coroutine.send(events)
    except RuntimeError as error:
        if "no running event loop" in str(error):
            error.add_note(_NOT_ASYNCIO)
        raise
    if not isinstance(wanted, Arrival):
        coroutine.close()
        raise UsageError(f"{who} awaits {wanted!r:.100}; {_NOT_ASYNCIO}")
    return wanted


def _place(coroutine: Coroutine[Any, Any, Any]) -> tuple[str, int] | None:
    """Return the file and the line where a coroutine has paused, or one that it awaits."""
    while isinstance(awaited := getattr(coroutine, "cr_await", None), CoroutineType):
        coroutine = awaited
    frame = getattr(coroutine, "cr_frame", None)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
