"""Spawning by all sources together, for libraries that connect no others later: Open MPI.

Sources spawn a group, which makes a bridge; those on the bridge spawn the next group, and so on. So
all are connected before anyone knows whether joining ranks are ready, and sources wait while
processes start. A group is spawned for each host, so that it can leave by itself.

Open MPI 5 crashes in `MPI_Finalize` if a communicator to other groups is left, so all are freed
before.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Sequence
from typing import Any

from freestone.malleable import together
from freestone.malleable.spawning import Group, Spawned, is_collective, spawn, watched

__all__ = ["free_all", "free_at_end", "meet_sources", "spawn_together"]

_kept: list[Any] = []


def spawn_together(
    sources: Any, spawned: Spawned | None, groups: Sequence[Group], timeout_s: float
) -> Any:
    """Start joining ranks; collective over the sources.

    Parameters
    ----------
    sources : mpi4py communicator
        Their ranks keep their order and come first.
    spawned : Spawned or None
        On rank 0, what keeps track of the joining ranks; its `error` says why they can't come.
    groups : sequence of Group
        What to start.
    timeout_s : float
        How long MPI may take for each group.

    Returns
    -------
    mpi4py communicator or None
        Sources and joining ranks, or nothing if there is an error.
    """
    problem = "" if spawned is None else spawned.check()
    if together.tell(sources, problem, timeout_s, "spawning"):
        return None
    watch = contextlib.nullcontext() if spawned is None else watched(timeout_s * len(groups))
    try:
        with watch:
            bridge, peers = _extend(sources, list(groups))
    except Exception as error:
        # MPI gives the same to all sources.
        if spawned is not None:
            spawned.note(error)
        return None
    if spawned is not None:
        for peer in peers:
            spawned.greet(peer)
    free_at_end(bridge, *peers)
    return bridge


def meet_sources(parent: Any) -> tuple[Any, Any]:
    """Return the root with the joining ranks of this group, and all that are connected.

    Parameters
    ----------
    parent : mpi4py communicator
        Between those that have spawned this group, and the group.
    """
    bridge = parent.Merge(high=True)
    peer = bridge.Split(0, bridge.rank)
    whole, _ = _extend(bridge, bridge.bcast(None, root=0))
    free_at_end(peer, whole)
    return peer, whole


def _extend(bridge: Any, groups: list[Group]) -> tuple[Any, list[Any]]:
    """Start group after group; return the bridge to all, and on its root that to each group."""
    from mpi4py import MPI

    peers = []
    for number, group in enumerate(groups):
        before, last = bridge.size, bridge
        bridge = spawn(group, bridge)
        if number > 0:
            last.Free()
        is_in = bridge.rank == 0 or bridge.rank >= before
        peers.append(bridge.Split(0 if is_in else MPI.UNDEFINED, bridge.rank))
        bridge.bcast(groups[number + 1 :], root=0)
    return bridge, peers


def free_at_end(*comms: Any) -> None:
    """Free communicators before MPI ends, where the library needs that."""
    from mpi4py import MPI

    if not is_collective():
        return
    if not _kept:
        # mpi4py ends MPI after all that Python runs at its end.
        atexit.register(free_all)
    _kept[:] = [comm for comm in (*_kept, *comms) if comm != MPI.COMM_NULL]


def free_all() -> None:
    """Free those that are left; done by each process as it ends."""
    from mpi4py import MPI

    for comm in _kept:
        if comm != MPI.COMM_NULL:
            comm.Free()
    _kept.clear()
