"""Ranks on the workers of a cluster, all at the same time; `Cluster.spmd` is this.

See docs/decisions/029-ranks-of-a-cluster-are-calls.md
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.client.waiting import as_completed
from freestone.errors import ConfigurationError
from freestone.errors.events import RankLostError
from freestone.events.outcome import Outcome, carry_out, pickled
from freestone.events.rank import Rank
from freestone.events.running import results
from freestone.events.settings import resolve
from freestone.hosts.engine import listen_towards

if TYPE_CHECKING:
    from freestone.client.future import Future
    from freestone.client.interface import Client

PATIENCE_S = 300.0
"""How long ranks on several machines wait for executors of the others to be free."""


@dataclass(frozen=True)
class Place:
    """Where ranks find each other: shared memory by its path, or a meeting by its address."""

    ranks: int
    settings: dict[str, Any]
    arena: int
    memory: str | None = None
    meeting: str | None = None
    identity: tuple[str, str] | None = None

    def join(self, rank: int) -> _native.EventRank:
        """Become one of the ranks."""
        if self.memory is not None:
            descriptor = os.open(self.memory, os.O_RDWR | os.O_CLOEXEC)
            try:
                return _native.EventRank.open(
                    descriptor, rank, self.ranks, arena=self.arena, settings=self.settings
                )
            finally:
                os.close(descriptor)
        assert self.meeting is not None
        assert self.identity is not None
        return _native.meet_ranks(
            self.meeting, self.identity, rank, self.ranks, PATIENCE_S, self.settings
        )


def spmd(
    client: Client,
    main: Callable[..., Any],
    ranks: int | None,
    args: Sequence[Any],
    each: Sequence[Sequence[Any]] | None,
    settings: dict[str, Any],
) -> list[Any]:
    """Run a program as ranks on the workers of a cluster; see `Cluster.spmd`."""
    workers = client.workers()
    seats = [worker for worker in workers for _ in range(worker["slots"])]
    ranks = _checked(ranks, seats, each)
    here = all(worker["host"] == socket.gethostname() for worker in workers)
    resolved = resolve(settings, ranks)
    native, arena = resolved.native(), resolved.arena
    memory = _native.EventMemory(ranks, arena=arena) if here else None
    if memory is not None:
        place = Place(ranks, native, arena, memory=f"/proc/{os.getpid()}/fd/{memory.fd}")
    else:
        identity = _native.make_identity(1)
        elsewhere = next(one["host"] for one in workers if one["host"] != socket.gethostname())
        address = listen_towards(elsewhere).removeprefix("tcp://")
        meeting = _native.EventMeeting(address, identity)
        place = Place(ranks, native, arena, meeting=meeting.address, identity=identity)
        threading.Thread(target=_hold, args=(meeting, ranks), daemon=True).start()
    own = each or [()] * ranks
    futures = [
        client.submit(
            _be,
            (place, rank, main, tuple(args), tuple(own[rank])),
            {},
            {
                "name": f"rank {rank}",
                "worker": int(seats[rank * len(seats) // ranks]["worker"].removeprefix("worker-")),
                "retries": 0,
                "pure": False,
            },
        )
        for rank in range(ranks)
    ]
    try:
        return results(_outcomes(futures, memory))
    except BaseException:
        client.cancel(futures)
        raise


def _checked(ranks: int | None, seats: list[Any], each: Sequence[Sequence[Any]] | None) -> int:
    if ranks is None:
        ranks = len(seats)
    if not 1 <= ranks <= len(seats):
        raise ConfigurationError(
            f"ranks={ranks}: all run at the same time, each on an executor, and the cluster has "
            f"{len(seats)}; ask for 1 to {len(seats)}, or open it with more workers or executors",
            key="ranks",
            origin="ranks",
        )
    if each is not None and len(each) != ranks:
        raise ConfigurationError(
            f"each has arguments for {len(each)} ranks, and there are {ranks}",
            key="each",
            origin="each",
        )
    return ranks


def _hold(meeting: _native.EventMeeting, ranks: int) -> None:
    # Ranks that nobody meets raise themselves, and are heard.
    try:
        meeting.hold(ranks, PATIENCE_S)
    except OSError:
        return


def _be(
    place: Place, rank: int, main: Callable[..., Any], args: tuple[Any, ...], own: tuple[Any, ...]
) -> bytes:
    """Be a rank, in an executor."""
    return pickled(carry_out(Rank(place.join(rank)), main, args + own), rank)


def _outcomes(futures: list[Future], memory: _native.EventMemory | None) -> list[Outcome]:
    """Wait for all ranks; the others are told when one is lost."""
    found = [Outcome() for _ in futures]
    numbers = {future: rank for rank, future in enumerate(futures)}
    for future in as_completed(futures):
        rank = numbers[future]
        try:
            found[rank] = pickle.loads(future.result())
        except Exception as error:
            lost = RankLostError(f"rank {rank} is lost: {error}", rank=rank)
            lost.__cause__ = error
            found[rank] = Outcome(error=lost, own=True)
            if memory is not None:
                memory.lose(rank)
    others = [one for one in found if not isinstance(one.error, RankLostError) or not one.own]
    if others and all(one.error is None for one in others):
        # Whoever asked for lost ranks went on without them.
        return [Outcome() if isinstance(one.error, RankLostError) else one for one in found]
    return found
