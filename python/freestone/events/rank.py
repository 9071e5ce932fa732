"""A rank, as its program and its tasks see it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from types import FunctionType
from typing import Any, Final

from freestone import _native
from freestone._native.events import Event, TaskFuture
from freestone.errors import BadEventError
from freestone.events.coroutines import Arrival
from freestone.events.tasks import Function, check_count, label_of, takes
from freestone.events.tracing import Recording
from freestone.observe.rings import Span, Trace
from freestone.units import parse_nbytes

SELF: Final = -1001
"""This rank, as a source or a target."""

ALL: Final = -1002
"""Every rank, this one included: as a source, one event of each; as a target, a broadcast."""

ANY: Final = -1003
"""Any rank, whichever is first, as a source."""

RANK_LOST: Final = "rank_lost"
"""The event from a rank that is lost, for programs that have ever asked for it."""

RANK_JOINED: Final = "rank_joined"
"""The event from a rank that has joined a run which was on."""

Ranks = int | Sequence[int]
Dependencies = Iterable[tuple[Ranks, str]]


class Rank:
    """A rank of a run. Programs get theirs from `run`; tasks ask `current`.

    Attributes
    ----------
    id : int
        Its number, from 0.
    """

    __slots__ = ("_native", "_recording", "id")

    def __init__(self, native: _native.events.EventRank, rings: str | None = None) -> None:
        self._native = native
        self.id: int = native.rank
        self._recording = None if rings is None else Recording(native.rank, rings)
        native.set_owner(self)

    def noted(self, kind: str, name: str) -> AbstractContextManager[Span | None]:
        """Note what is done in the block, if the run is traced."""
        return nullcontext() if self._recording is None else self._recording.span(kind, name)

    def trace(self) -> Trace | None:
        """Return what was noted, if the run is traced."""
        return None if self._recording is None else self._recording.end()

    @property
    def size(self) -> int:
        """How many ranks the run has.

        Those that join it count from when their `RANK_JOINED` arrives here. `ALL` means as many, in
        calls that are made from then on; what was submitted before keeps the ranks that it had.
        """
        return self._native.ranks

    @property
    def has_joined(self) -> bool:
        """Whether this rank joined a run that was on."""
        return self._native.has_joined

    def __repr__(self) -> str:
        return f"<Rank {self.id} of {self.size}>"

    def submit(
        self,
        function: Function,
        on: Dependencies = (),
        *,
        persistent: bool = False,
        greedy: bool = False,
        name: str | None = None,
        then: str | None = None,
        at_least: int | None = None,
        within_s: float | None = None,
    ) -> TaskFuture:
        """Submit a task, to run here when its events are there. Never waits.

        Parameters
        ----------
        function : callable
            Called with one `Event` for each dependency, in their order; a dependency on `ALL` or on
            a sequence of ranks is one for each of these. If it is a coroutine function, it pauses
            at ``await self.arrival(...)`` and ``await future`` and takes no worker meanwhile.
        on : iterable of (source, str)
            The events that it needs: from a rank, `SELF`, `ANY`, `ALL` or a sequence of ranks, with
            this identifier. Without any it runs at once. Tasks consume in the order in which they
            are submitted.
        persistent : bool
            It stays and runs whenever its dependencies are met, several times at once if they are.
            The end of the run does not wait for it.
        greedy : bool
            One call takes all events that are there, at least one for each dependency.
        name : str, optional
            By what `is_submitted` and `remove` find it.
        then : str, optional
            The event that is fired at this rank when a call ends, with what it returned.
        at_least : int, optional
            A greedy task waits until so many events are there, of all dependencies together: events
            come in batches.
        within_s : float, optional
            For how many seconds the first event of a batch waits at most; needed with `at_least`. A
            batch still has an event for each dependency.

        Returns
        -------
        TaskFuture
            What the function returns; of a persistent task, what its first call returns.

        Raises
        ------
        TypeError
            If the function can't be called with as many events.
        ValueError
            If a source is no rank of the run, or only one of `at_least` and `within_s` is given, or
            they are and the task is not greedy.
        RunOverError
            If the run is over.

        Notes
        -----
        Costs time and memory for each of its dependencies, however many other tasks wait (paper,
        section II-A).
        """
        if not callable(function):
            raise TypeError(
                f"function={function!r:.80} is of type {type(function).__name__}: a task is a "
                "function, not what it returns; submit(f), not submit(f())"
            )
        called = getattr(function, "function", function)
        label = name or label_of(function)
        if not greedy and isinstance(called, FunctionType):
            self._check_count(called, label, on)
        if then is not None:
            _native.events.check_id(then, "then")
            called = functools.partial(_call_then, self, called, then)
        if self._recording is not None:
            called = self._recording.traced(called, label)
        return self._native.submit(
            called,
            on,
            persistent=persistent,
            greedy=greedy,
            name=name,
            label=label,
            batch=_batch(at_least, within_s),
            frame=sys._getframe(1),
        )

    def _check_count(self, function: FunctionType, label: str, on: Dependencies) -> None:
        """Refuse a function that can't be called with its events, if these are known by now."""
        if not isinstance(on, list | tuple) or takes(function, len(on)) is None:
            return
        try:
            is_each = all(type(source) is int and source != ALL for source, _ in on)
        except (TypeError, ValueError):
            return  # the call itself says what is wrong
        if not is_each or not takes(function, len(on)):
            # This says first which sources there are not.
            check_count(function, label, [id for _, id in self._native.needed(on)])

    def submit_rest(
        self, rest: Function, on: Dependencies, label: str, place: tuple[str, int] | None
    ) -> None:
        """Submit what is left of a task that has paused at a line of a file."""
        if self._recording is not None:
            rest = self._recording.traced(rest, label)
        self._native.submit_rest(rest, on, label, place)

    def arrival(self, on: Dependencies) -> Arrival:
        """Return what a coroutine awaits for events, as `wait` waits for them.

        It goes on as a task of this rank once they are there: no worker and no thread waits for
        it. Its locks are let go meanwhile, and taken back in the order in which it took them.

        Parameters
        ----------
        on : iterable of (source, str)
            As in `submit`.

        Returns
        -------
        Arrival
            ``await`` gives a list of `Event`, in the order of the dependencies.

        Examples
        --------
        >>> from freestone import events as ev
        >>> async def total(first):
        ...     rank = ev.current()
        ...     (second,) = await rank.arrival([(ev.SELF, "second")])
        ...     return first.data + second.data
        >>> def main(rank):
        ...     future = rank.submit(total, on=[(ev.SELF, "first")])
        ...     rank.fire(ev.SELF, "first", 40)
        ...     rank.fire(ev.SELF, "second", 2)
        ...     return future.result()
        >>> ev.run(main, ranks=1, threads=True)
        [42]
        """
        return Arrival(on)

    def fire(
        self,
        target: Ranks,
        id: str,
        data: Any = None,
        *,
        persistent: bool = False,
        by_reference: bool = False,
    ) -> None:
        """Fire an event: copies what it carries, and goes on.

        Parameters
        ----------
        target : int or sequence of int
            A rank, `SELF`, `ALL`, or several ranks.
        id : str
            Its identifier, at most 4096 bytes.
        data : optional
            What it carries. NumPy arrays of any shape and dtype (no objects), numbers of Python's
            and NumPy's, text and bytes go as they are, as C and Fortran read them; all else is
            pickled, whole numbers of more than 64 bits, too. The target gets arrays as read-only
            views of where they arrived: on one node that is where they were written, without
            another copy.
        persistent : bool
            It is fired again, at its target, each time it is consumed.
        by_reference : bool
            It carries the object itself; only to `SELF`.

        Raises
        ------
        ValueError
            If there is no such rank.
        EventTimeoutError
            If the target had no room for the ``send_timeout_s`` of the run, which is without limit
            by default.

        Notes
        -----
        Events from one thread to one rank keep their order (paper, section II-B). When the target
        has no room, takes in what arrives here until it has.
        """
        if self._recording is None:
            self._native.fire(target, id, data, persistent, by_reference)
            return
        with self._recording.span("fire", f"fire {id}") as span:
            span.fired = self._recording.fire(self._native.targets(target), id)
            self._native.fire(target, id, data, persistent, by_reference)

    def wait(self, on: Dependencies, timeout_s: float | None = None) -> list[Event]:
        """Wait for events; they come in the order of the dependencies.

        In a task, its locks are let go meanwhile and its worker runs other tasks (paper, section
        IV-B).

        Parameters
        ----------
        on : iterable of (source, str)
            As in `submit`.
        timeout_s : float, optional
            For how many seconds at most.

        Returns
        -------
        list of Event

        Raises
        ------
        EventTimeoutError
            If they did not come in time; those that did are there for others.
        RunStuckError
            If they can't come any more.
        """
        if self._recording is None:
            return self._native.wait(on, timeout_s, sys._getframe(1))
        needed = self._native.needed(on)
        name = ", ".join(dict.fromkeys(id for _, id in needed))
        with self._recording.span("wait", f"wait for {name}") as span:
            events = self._native.wait(needed, timeout_s, sys._getframe(1))
            span.taken = self._recording.take(events)
            return events

    def retrieve_any(self, on: Dependencies) -> list[tuple[int, Event]]:
        """Take events that are there, at most one for each dependency, without waiting.

        Returns
        -------
        list of (int, Event)
            Each with the index of its dependency.
        """
        events = self._native.retrieve_any(on)
        if self._recording is not None and events:
            with self._recording.span("retrieve", "retrieve") as span:
                span.taken = self._recording.take(event for _, event in events)
        return events

    def lock(self, name: str) -> None:
        """Take a lock of this rank, waiting for it. The end of the task lets go of it."""
        with self.noted("lock", f"lock {name}"):
            self._native.lock(name, sys._getframe(1))

    def try_lock(self, name: str) -> bool:
        """Take a lock if no other task has it; whether this one has it now."""
        return self._native.try_lock(name)

    def holds_lock(self, name: str) -> bool:
        """Tell whether this task, or the program, has a lock."""
        return self._native.holds_lock(name)

    def held_locks(self) -> list[str]:
        """Return the names of the locks that this task, or the program, has, first taken first."""
        return self._native.held_locks()

    def unlock(self, name: str) -> None:
        """Let go of a lock."""
        self._native.unlock(name)

    def after(self, delay_s: float, id: str) -> None:
        """Fire an event at this rank in `delay_s` seconds.

        The run does not end before, unless `stop` is called.
        """
        self._native.after(delay_s, id)

    def every(self, period_s: float, id: str) -> None:
        """Fire an event at this rank every `period_s` seconds, if the last one was consumed.

        A period has at least 0.0001 s.
        """
        self._native.every(period_s, id)

    def when_readable(self, file: Any, id: str) -> None:
        """Fire an event at this rank, once, when there is something to read.

        The run does not end before, unless `stop` is called.

        Parameters
        ----------
        file : int or object with fileno()
            A descriptor: of a socket, a pipe, a terminal. It has to stay open until then.
        id : str
            The event's identifier.

        Raises
        ------
        ValueError
            If it is not open.
        """
        self._native.when_readable(file.fileno() if hasattr(file, "fileno") else file, id)

    def when_memory_below(self, nbytes: int | str, id: str) -> None:
        """Fire an event at this rank, once, when so much memory, or less, is left on its machine.

        Looked at ten times a second; `nbytes` may be ``"2GiB"``.
        """
        self._native.when_memory_below(parse_nbytes(nbytes), id)

    def when_load_above(self, load: float, id: str) -> None:
        """Fire an event at this rank, once, when its machine's load of a minute is so high."""
        self._native.when_load_above(load, id)

    def progress(self) -> int:
        """Take in what has arrived, send what waits, and return how much that was.

        Needed where the program looks for what arrives (``progress="program"``), as it does where
        MPI is initialised with ``MPI_THREAD_FUNNELED``: events come and go when the program calls
        this, waits or is at its end. Elsewhere it does no harm.

        Raises
        ------
        RunOverError
            If the run is over.
        """
        return self._native.progress()

    def stop(self, id: str) -> int:
        """Take back what `after`, `every`, `when_readable` and the like are to fire as `id`.

        An event that has been fired already stays.

        Returns
        -------
        int
            How many of them there were.
        """
        return self._native.stop(id)

    def is_submitted(self, name: str) -> bool:
        """Tell whether a task of this name waits for events."""
        return self._native.is_submitted(name)

    def remove(self, name: str) -> int:
        """Remove the tasks of this name that are not ready; how many.

        Events that they have taken go to others, or wait. Who waits for the result of one gets
        a `TaskRemovedError`.
        """
        return self._native.remove(name)

    def drain(self) -> None:
        """Wait until nothing is left to do on any rank, and go on.

        Every rank has to call it, or be at its end. Not for tasks.
        """
        self._native.drain()

    @property
    def workers(self) -> int:
        """How many tasks of this rank run at the same time."""
        return self._native.workers

    @property
    def worker(self) -> int | None:
        """The number of the worker that runs this task, from 0; None outside of tasks.

        A task that waits may go on as another worker.
        """
        return self._native.worker

    @property
    def cores(self) -> list[int] | None:
        """The core on which each worker stays; None if they are not mapped."""
        cores = [self._native.core(worker) for worker in range(self.workers)]
        return [core for core in cores if core is not None] or None

    def statistics(self) -> dict[str, int]:
        """Return what this rank has done and is doing.

        Returns
        -------
        dict of str to int
            ``fired``, events at other ranks, one for each target; ``arrived``, events from all
            ranks, this one included; ``tasks`` that have been called; tasks ``waiting`` for events,
            and ``ready`` for a worker; events ``unconsumed``; ``workers``, and how many are
            ``busy``.
        """
        return self._native.statistics()

    def report(self) -> str:
        """Say what waits on this rank, and for what."""
        return self._native.report()


def current() -> Rank:
    """Return the rank whose program or task calls this.

    Raises
    ------
    RuntimeError
        Outside of a run.
    """
    rank = _native.events.current_rank()
    if rank is None:
        raise RuntimeError("no rank runs here: call this in the program or a task of ev.run()")
    found: Rank = rank
    return found


def _batch(at_least: int | None, within_s: float | None) -> tuple[int, float] | None:
    if at_least is None and within_s is None:
        return None
    if not (isinstance(at_least, Integral) and isinstance(within_s, Real)) or (
        at_least < 1 or within_s < 0
    ):
        raise BadEventError(
            f"at_least={at_least!r}, within_s={within_s!r}: a batch has a number of events, "
            "1 or more, and a time in seconds after which fewer are enough; give both"
        )
    return at_least, within_s


def _call_then(rank: Rank, function: Function, then: str, *events: Event) -> Any:
    value = function(*events)
    if inspect.iscoroutine(value):
        return _await_then(rank, value, then)
    rank.fire(SELF, then, value)
    return value


async def _await_then(rank: Rank, coroutine: Awaitable[Any], then: str) -> Any:
    value = await coroutine
    rank.fire(SELF, then, value)
    return value
