"""A spawned process, until it has joined the job.

See docs/decisions/018-joining-processes-get-the-plan-when-they-are-spawned.md
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from freestone.malleable import guard, spawning, together
from freestone.malleable.arrays import Array
from freestone.malleable.collective_spawn import free_all, meet_sources
from freestone.malleable.config import require_same
from freestone.malleable.path import Path
from freestone.malleable.storage import reserve
from freestone.malleable.transfer import Transfer, warmed
from freestone.malleable.waiting import MAX_S, wait_until

__all__ = ["JoiningRank", "end", "meet", "pending"]

# A program may take that long to import what it needs.
_START_S = 600.0


@dataclass
class JoiningRank:
    """A spawned process before it has joined.

    Attributes
    ----------
    peer : mpi4py communicator
        The root of the sources and all of this group.
    group : mpi4py communicator
        All that were spawned together.
    guard : int or None
        The pipe to the guard, if there is one.
    bridge : mpi4py communicator or None
        Sources and joining ranks, where they are connected from the start.
    is_ready : bool
        Whether it has told the root that it is at the head of its loop, or why it is not.
    has_joined : bool
        Whether it has rows that nobody else has.
    host : str
        Where a scheduler has granted it a place, empty if none has.
    passage : Passage or None
        What moves its data, once it is connected.
    """

    peer: Any
    group: Any
    guard: int | None = None
    bridge: Any = None
    is_ready: bool = False
    has_joined: bool = False
    has_heard: bool = False
    host: str = ""
    reported: Any = None
    transfer: Transfer | None = None

    def prepare(self, settings: Mapping[str, str]) -> tuple[dict[str, Array], Path]:
        """Return the arrays there are, and the way to the loop that the others are in.

        Those that this process will have for itself get warm pages, while others compute.

        Raises
        ------
        ConfigurationError
            If the others have other settings.
        """
        (blueprint, descriptions, path, agreed), number = spawning.receive_plan(self.peer, _START_S)
        self.has_heard = True
        require_same(settings, agreed, "a joining rank", "the others have")
        granted = [each.granted_host for each in blueprint.joining_ranks for _ in range(each.count)]
        self.host = granted[number]
        own = warmed(descriptions, blueprint, blueprint.before + number)
        # Shared memory is mapped when all others wait for it: too late to find that it can't be.
        shared = [each.form for each in descriptions if each.is_shared]
        reserve(part.nbytes for form in shared for part in form.parts)
        return {each.name: own.get(each.name) or Array(each, []) for each in descriptions}, path

    def arrive(self) -> None:
        """Tell the root that this process is at the head of the loop that it was sent to.

        Raises
        ------
        SystemExit
            If another one of this group failed.
        """
        self.is_ready = True
        self._tell_guard(guard.ARRIVED)
        if self._agree(""):
            self._end_when_cancelled()

    def wait(
        self,
        is_done: Callable[[], bool],
        timeout_s: float,
        what: str,
        longest_s: float = MAX_S,
    ) -> None:
        """Wait as `wait_until` does, or leave if others are lost."""

        def is_over() -> bool:
            if spawning.has_to_leave(self.peer):
                self.leave()
            return is_done()

        wait_until(is_over, timeout_s, what, longest_s)

    def listen(self) -> Any:
        """Return the next word of the root, which comes at the head of a step: however late."""

        def has_word() -> bool:
            return spawning.has_word(self.peer)

        transfer, what = self.transfer, "joining the job"
        if transfer is not None:
            self.wait(lambda: transfer.test() or has_word(), math.inf, what, transfer.nap_s)
        self.wait(has_word, math.inf, what)
        return spawning.heard(self.peer)

    def follow(self) -> None:
        """Go on to another loop."""
        self.is_ready = False
        self._tell_guard(guard.ON_ITS_WAY)

    def _tell_guard(self, word: bytes) -> None:
        if self.guard is not None:
            os.write(self.guard, word)

    def end_cancelled(self) -> NoReturn:
        """End in good order, as all do that take part, since the resize does not come about."""
        if self.transfer is not None:
            self.transfer.finish_constants()
        end()

    def _end_when_cancelled(self) -> NoReturn:
        # Others count on this process while data moves.
        while self.transfer is not None and self.listen() != spawning.CANCEL:
            continue
        self.end_cancelled()

    def join(self) -> None:
        """Become as good as any other: from now on the job can't go on without this process."""
        self.has_joined = True
        if self.guard is not None:
            os.write(self.guard, guard.JOINED)
            os.close(self.guard)
        self.peer.Free()

    def leave(self) -> NoReturn:
        """End at once, without waiting for others of the group, of which some are lost."""
        sys.stdout.flush()
        sys.stderr.flush()
        if self.guard is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        end()

    def refuse(self, problem: str) -> NoReturn:
        """Tell that this process can't join, and end."""
        self.is_ready = True
        self._tell_guard(guard.ARRIVED)
        self._agree(problem)
        self._end_when_cancelled()

    def _agree(self, problem: str) -> str:
        """Tell the root, as soon as the whole group knows, what the first problem of any is."""
        if not self.has_heard:
            # Whoever sends it may wait until it is taken.
            spawning.receive_plan(self.peer, _START_S)
            self.has_heard = True
        rank, none = self.group.rank, self.group.size
        first = np.empty(1, np.int64)
        request = self.group.Iallreduce(np.array([rank if problem else none]), first, _least())
        self.wait(request.Test, _START_S, "starting all of a group")
        if first[0] == none:
            problem = ""
        root = int(first[0]) % none
        problem = together.tell(self.group, problem, _START_S, "starting all of a group", root)
        if rank == 0:
            spawning.report(self.peer, problem)
        return problem


def _least() -> Any:
    from mpi4py import MPI

    return MPI.MIN


_pending: list[JoiningRank] = []


def pending() -> JoiningRank | None:
    """Return this process as a joining rank, if it has been spawned and has not joined yet."""
    return _pending.pop() if _pending else None


def meet() -> JoiningRank:
    """Return this process as a joining rank, once it has met the root of the sources."""
    from mpi4py import MPI

    pipe = os.environ.pop(guard.PIPE, None)
    if pipe is not None:
        os.set_inheritable(int(pipe), False)
    parent, bridge = MPI.Comm.Get_parent(), None
    if spawning.is_collective():
        peer, bridge = meet_sources(parent)
    else:
        peer = parent.Merge(high=True)
    line = None if pipe is None else int(pipe)
    joining_rank = JoiningRank(peer, MPI.COMM_WORLD.Dup(), line, bridge)
    joining_rank.reported = spawning.here(peer)
    _pending.append(joining_rank)
    return joining_rank


def end() -> NoReturn:
    """End this process; it waits for its group, if that stays, without using the core."""
    from mpi4py import MPI

    sys.stdout.flush()
    sys.stderr.flush()
    free_all()
    MPI.Finalize()
    raise SystemExit(0)
