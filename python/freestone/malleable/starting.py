"""The beginning of a job: who takes part, and whether MPI can do what the settings need."""

from __future__ import annotations

import atexit
from typing import Any

from freestone.errors import ConfigurationError, EngineMissingError, NoThreadsError
from freestone.hosts.printed import await_launcher
from freestone.malleable.config import Config, require_same
from freestone.malleable.membership import Membership
from freestone.malleable.method import Method
from freestone.malleable.resize import has_threads
from freestone.malleable.spawning import is_launched
from freestone.malleable.together import gather_all

__all__ = ["check_threads", "first_membership", "keep_what_is_printed"]

_CURE = "pip install mpi4py mpich, and start the program by mpiexec -n 2 python -m mpi4py ..."


def first_membership(comm: Any, config: Config, host: str) -> Membership:
    """Return the ranks that a job begins with; all of them call it together.

    Parameters
    ----------
    comm : mpi4py communicator or None
        The ranks; None for all that there are.
    config : Config
        For how many there is room, and what all ranks must have the same of.
    host : str
        Where this process is: see `own_host`.

    Raises
    ------
    ConfigurationError
        On all ranks, if one has other settings than rank 0, or there is no room for all.
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise EngineMissingError(engine="MPI", missing=str(error), cure=_CURE) from error
    ranks = MPI.COMM_WORLD if comm is None else comm
    membership = Membership.first(ranks, host)
    _require_same(membership.control, config)
    places = config.places
    if places is not None and ranks.size > places:
        problem = f"the job begins with {ranks.size} ranks, and there is room for {places}"
        raise ConfigurationError(f"{problem} (see slots and balance)", key="slots", origin="")
    return membership


def _require_same(comm: Any, config: Config) -> None:
    found = gather_all(comm, config.agreed(), config.timeout_s, "the settings of all ranks")
    for rank, own in enumerate(found):
        require_same(own, found[0], f"rank {rank}", "rank 0 has")


def keep_what_is_printed() -> None:
    """Let the launcher read the reason of an error before the error aborts the job.

    mpi4py does so behind all that is registered for the end of a program.
    """
    if is_launched():
        atexit.register(await_launcher)


def check_threads(config: Config) -> None:
    """Refuse a method for which MPI was not started."""
    method = config.method
    if isinstance(method, Method) and method.is_overlapped and not has_threads():
        problem = (
            f"{method} needs MPI_THREAD_MULTIPLE, and MPI was started with less; set "
            "mpi4py.rc.thread_level = 'multiple', or take a method that ends in 'sync'"
        )
        raise NoThreadsError(problem)
