"""Processes of `mpiexec` outside of a run: they fire at its ranks and receive from them."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from freestone import _native
from freestone._native.events import Event
from freestone.errors import UsageError
from freestone.errors.events import EventsError
from freestone.errors.keywords import suggest_keywords
from freestone.events.settings import resolve
from freestone.events.world import begin

__all__ = ["Bridge", "attach"]


#: The bridge that this process is, or was last.
_bridge: Bridge | None = None


class Bridge:
    """A process outside of a run; made by `attach`.

    Attributes
    ----------
    id : int
        The number of this process: those of the ranks are below it. Ranks depend on its events, and
        fire at it, by this number, or take part in `ANY`.
    size : int
        How many ranks the run has.
    """

    def __init__(self, native: _native.events.EventBridge) -> None:
        self._native = native
        self._is_attached = True
        self.id: int = native.number
        self.size: int = native.ranks
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"<Bridge {self.id} to {self.size} ranks>"

    def fire(
        self, target: int | Sequence[int], id: str, data: Any = None, *, persistent: bool = False
    ) -> None:
        """Fire an event at ranks: copies what it carries, and goes on.

        Parameters
        ----------
        target : int or sequence of int
            A rank, `ALL` ranks, or several.
        id : str
            Its identifier, at most 4096 bytes.
        data : optional
            What it carries, as in `Rank.fire`.
        persistent : bool
            It is fired again, at its target, each time it is consumed.

        Raises
        ------
        ValueError
            If there is no such rank.
        EventTimeoutError
            If a rank had no room for ``FREESTONE_EVENTS_SEND_TIMEOUT_S`` seconds.
        RankFailedError
            If the run has ended because a task failed.

        Notes
        -----
        Events from here to one rank keep their order. At most 4 MiB are on their way to a rank:
        when it is slower, this call waits.
        """
        self._attached("fire").fire(target, id, data, persistent)

    def wait(self, on: Iterable[tuple[Any, str]], timeout_s: float | None = None) -> list[Event]:
        """Wait for events from ranks; they come in the order of the dependencies.

        Parameters
        ----------
        on : iterable of (source, str)
            A rank, `ANY`, `ALL` ranks or a sequence of ranks, and an identifier.
        timeout_s : float, optional
            For how many seconds at most.

        Returns
        -------
        list of Event

        Raises
        ------
        EventTimeoutError
            If they did not come in time.
        RunStuckError
            If they can't come any more: all ranks and all such processes wait, and nothing is on
            its way. A wait with a timeout may go on by itself, so that it is not counted.
        RankFailedError
            If the run has ended because a task failed.
        """
        return self._attached("wait").wait(on, timeout_s, sys._getframe(1))

    def retrieve_any(self, on: Iterable[tuple[Any, str]]) -> list[tuple[int, Event]]:
        """Take events that are there, at most one for each dependency, without waiting.

        Returns
        -------
        list of (int, Event)
            Each with the index of its dependency.
        """
        return self._attached("retrieve_any").retrieve_any(on)

    def detach(self) -> None:
        """End this process's part in the run, which ends once all such processes have done so.

        What was fired at it and it has not consumed is dropped, and whoever fires at it goes on.
        Stderr says what: here of events that have arrived, at the end of the run of those that
        have not. A program that ends without it is detached then, with a word on stderr.
        """
        if self._is_attached:
            self._is_attached = False
            self._native.detach()

    def _detach_at_exit(self) -> None:
        # Where it has not begun another life, as a forked process has.
        if not self._is_attached or os.getpid() != self._pid:
            return
        # A run that has ended with an error waits for nobody.
        if not self._native.is_over:
            print(
                f"freestone events: bridge {self.id} ends before detach(): it is detached now, and "
                "fires no more; call detach() on every path to the end of the program, or write "
                "`with ev.attach() as bridge:`",
                file=sys.stderr,
                flush=True,
            )
        # Whatever goes wrong now, the ranks say more.
        with contextlib.suppress(EventsError, OSError):
            self.detach()

    def _attached(self, call: str) -> _native.events.EventBridge:
        if not self._is_attached:
            raise UsageError(
                f"{call}() after detach(): this process has ended its part in the run; "
                "call it before, or keep the process attached for as long as it fires"
            )
        return self._native

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()


@suggest_keywords
def attach(comm: Any | None = None) -> Bridge:
    """Take part in a run from outside, as a process of ``mpiexec`` that is no rank.

    It has no tasks and no threads: whatever comes and goes does so in calls of the `Bridge`, in one
    thread, so MPI may be initialised with any thread level. This is how the ranks of a simulation
    feed those that analyse it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        All of its processes call this or `run`, which gets the same communicator: those are the
        ranks. All that ``mpiexec`` started by default.

    Returns
    -------
    Bridge
        Also a context manager, which detaches.

    Raises
    ------
    UsageError
        If this process is attached to a run already.
    EventTimeoutError
        If some processes of `comm` called neither, for ``FREESTONE_EVENTS_MEET_TIMEOUT_S`` seconds
        (300).
    """
    global _bridge
    if _bridge is not None and _bridge._is_attached and os.getpid() == _bridge._pid:
        raise UsageError(
            f"attach() while this process is bridge {_bridge.id} of a run already: use that one, "
            "or call its detach() before"
        )
    settings = resolve({}, 1)

    def make(folders: list[str], handle: int | None) -> _native.events.EventBridge:
        return _native.events.EventBridge(
            folders, handle, settings.meet_timeout_s, settings.send_timeout_s
        )

    native = begin(comm, make)
    if "mpi4py.MPI" not in sys.modules:
        atexit.register(native.end)
    _bridge = Bridge(native)
    # Before MPI ends, which waits for all.
    atexit.register(_bridge._detach_at_exit)
    return _bridge
