"""Ranks that `mpiexec` started: each process is one, and shares the program's MPI."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from freestone import _native
from freestone.errors import ConfigurationError
from freestone.errors.events import EventTimeoutError
from freestone.events import tracing
from freestone.events.outcome import Outcome, carry_out, pickled, write_trace
from freestone.events.rank import Rank
from freestone.events.settings import Settings
from freestone.hosts.printed import await_launcher

Begun = TypeVar("Begun")


def is_here() -> bool:
    """Tell whether `mpiexec` started this process."""
    return _native.events.EventWorld.is_here()


def run(
    main: Callable[..., Any],
    args: tuple[Any, ...],
    settings: Callable[[int], Settings],
    comm: Any | None,
) -> list[Outcome]:
    """Run `main` as this process's rank; how it ended on all of them.

    Parameters
    ----------
    main, args, comm
        As `freestone.events.run` has them.
    settings : callable
        Called with the number of ranks; how they run.
    """
    timeout_s = settings(1).meet_timeout_s

    def make(folders: list[str], handle: int | None) -> _native.events.EventWorld:
        return _native.events.EventWorld(folders, handle, timeout_s)

    world = begin(comm, make)
    if "mpi4py.MPI" not in sys.modules:
        atexit.register(world.end)
    resolved = settings(world.ranks)
    rings = tracing.rings_of(resolved.trace)
    if world.rank == 0:
        tracing.begin(resolved.trace, world.ranks)
    native = world.start(resolved.native())
    outcome = carry_out(Rank(native, rings), main, args)
    if world.has_loss:
        # What all have to do together would not end: what the others returned is not known.
        atexit.register(_abort)
        outcomes = [Outcome() for _ in range(world.ranks)]
        outcomes[world.rank] = outcome
        return outcomes
    ended = world.exchange(pickled(outcome, world.rank))
    # A rank in C takes part, and has nothing to say.
    outcomes = [pickle.loads(one) if one else Outcome() for one in ended]
    if world.rank == 0:
        write_trace(resolved.trace, outcomes)
    return outcomes


def begin(comm: Any | None, make: Callable[[list[str], int | None], Begun]) -> Begun:
    """Return what `make` makes of folders with MPI's library and a communicator's handle.

    Raises
    ------
    EventTimeoutError
        If some of its processes do not do so, too.
    """
    handle = None if comm is None else _handle(comm)
    # Whoever imports mpi4py later would begin another MPI than the one that is loaded here: so the
    # program's MPI is that of mpi4py, if there is one.
    if importlib.util.find_spec("mpi4py") is not None:
        importlib.import_module("mpi4py.MPI")
    try:
        return make([str(Path(sys.prefix, "lib"))], handle)
    except TimeoutError as error:
        atexit.register(_abort)
        raise EventTimeoutError(str(error)) from None


@contextlib.contextmanager
def hold_mpi() -> Iterator[None]:
    """Keep the threads of this process's ranks out of MPI, while the program calls it.

    Where MPI is initialised with ``MPI_THREAD_SERIALIZED``, a program does so around each of its
    own calls between the beginning and the end of `run`; elsewhere it does no harm. Whoever holds
    MPI may fire events. As long as it is held no event arrives.

    Examples
    --------
    >>> with hold_mpi():
    ...     pass  # comm.allreduce(1)
    """
    _native.events.hold_mpi()
    try:
        yield
    finally:
        _native.events.release_mpi()


def _handle(comm: Any) -> int:
    """Return the communicator's handle, as MPI's C functions take it."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise ConfigurationError(
            f"comm={comm!r}: must be an intracommunicator of mpi4py that this process is in; a "
            "process that is in none does not call run",
            key="comm",
            origin="comm",
        )
    return int(mpi._handleof(comm))


def _abort() -> None:
    # MPI_Finalize would wait for ever, for ranks that never began the run or are lost.
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None:
        await_launcher()
        mpi.COMM_WORLD.Abort(1)
