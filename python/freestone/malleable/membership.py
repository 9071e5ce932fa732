"""Who belongs to a job at present."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freestone.malleable import together
from freestone.malleable.collective_spawn import free_at_end
from freestone.malleable.config import Config
from freestone.malleable.hosts import host_name
from freestone.malleable.planning import Blueprint

__all__ = ["Membership", "host_of", "next_membership", "own_host"]


@dataclass
class Membership:
    """The ranks, and the communicators between them.

    Attributes
    ----------
    comm, control, data : mpi4py communicator
        The user's, that of the heartbeat, and that of a resize: what goes on in one can't be
        taken for what goes on in another.
    groups : list of int
        By rank, the group that it was spawned in; the higher, the newer.
    hosts : list of str
        By rank, where it is: see `own_host`.
    """

    comm: Any
    control: Any
    data: Any
    groups: list[int]
    hosts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        free_at_end(self.comm, self.control, self.data)

    @classmethod
    def first(cls, comm: Any, host: str) -> Membership:
        """Return the membership of a job that begins."""
        hosts = comm.allgather(host)
        return cls(comm.Dup(), comm.Dup(), comm.Dup(), [0] * comm.size, hosts)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return int(self.data.size)

    @property
    def rank(self) -> int:
        """Which one this process is."""
        return int(self.data.rank)

    def find_hosts(self, granted: Mapping[str, int], timeout_s: float, *, are_named: bool) -> None:
        """Name the hosts of all ranks as those that are granted, if they are; all together.

        Parameters
        ----------
        granted : mapping of str to int
            The hosts that a source of targets has named.
        timeout_s : float
            How long a wait for the others may take.
        are_named : bool
            Whether a source has a name for this host. If it has one for other hosts alone, this
            one's is empty, for not known; if it has none at all, any name of a host counts.
        """
        own, what = self.hosts[self.rank], "the hosts of a resize"
        # Hosts that joining ranks were granted have their names, too.
        known = "" if own == host_name() else own
        found = together.gather_all(self.data, (known, are_named), timeout_s, what)
        if any(are_named for _, are_named in found):
            self.hosts = [known for known, _ in found]
            return
        here = own if own in granted else own_host(granted)
        own = here if here in granted else own
        self.hosts = together.gather_all(self.data, own, timeout_s, what)

    def free(self) -> None:
        """Let go of the communicators.

        ``Free``, since ``Disconnect`` of merged communicators was seen to hang with MPICH.
        """
        for comm in (self.comm, self.control, self.data):
            comm.Free()


def own_host(slots: int | Mapping[str, int] | None) -> str:
    """Return which of the hosts that joining ranks are placed on this process is on, by their name.

    A host is named as it names itself, or by any name or address of its interfaces.
    """
    names = [*slots] if isinstance(slots, Mapping) else []
    here = socket.gethostname()
    if here in names:
        return here
    return next(filter(_is_here, names), host_name())


def host_of(config: Config) -> str:
    """Return the name of this process's host, as a source of targets names it, or the settings."""
    named = (source.host() for source in config.sources)
    return next(filter(None, named), "") or own_host(config.slots)


def _is_here(name: str) -> bool:
    with contextlib.suppress(OSError):
        family, kind, _, _, address = socket.getaddrinfo(name, 0, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            # Only an address of this host can be bound.
            probe.bind(address)
            return True
    return False


def next_membership(
    bridge: Any,
    place: int | None,
    blueprint: Blueprint,
    groups: list[int],
    host: str,
    timeout_s: float,
) -> Membership | None:
    """Return the membership after a resize, or nothing for who leaves; all on the bridge call it.

    Parameters
    ----------
    bridge : mpi4py communicator
        Sources and joining ranks.
    place : int or None
        The rank that this process becomes.
    blueprint : Blueprint
        The plan.
    groups : list of int
        Of the sources.
    host : str
        Where this process is.
    timeout_s : float
        How long a wait may take.
    """
    from mpi4py import MPI

    color = MPI.UNDEFINED if place is None else 0
    data = bridge.Split(color, place or 0)
    if place is None:
        return None
    newest = max(groups, default=0)
    coming = enumerate(blueprint.joining_ranks, newest + 1)
    all_groups = [*groups, *(number for number, group in coming for _ in range(group.count))]
    hosts = together.gather_all(data, host, timeout_s, "the switch")
    comm, control = together.duplicates(data, 2, timeout_s, "the switch")
    return Membership(
        comm,
        control,
        data,
        [all_groups[process] for process in blueprint.process_of],
        hosts,
    )
