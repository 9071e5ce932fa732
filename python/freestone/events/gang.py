"""Ranks on the workers of a cluster, all at the same time; `Cluster.spmd` is this.

See docs/decisions/029-ranks-of-a-cluster-are-calls.md
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.client.waiting import FIRST_COMPLETED, wait
from freestone.errors import ConfigurationError
from freestone.errors.events import RankLostError
from freestone.events import tracing
from freestone.events.grace import Grace
from freestone.events.outcome import Outcome, carry_out, pickled, write_trace
from freestone.events.rank import Rank
from freestone.events.running import results
from freestone.events.settings import Settings, resolve
from freestone.hosts.engine import listen_towards
from freestone.observe.workers import worker_number

if TYPE_CHECKING:
    from freestone.client.future import Future
    from freestone.client.interface import Client

_ONLY_ONCE = "its executor ended while it ran, and a rank runs only once"


@dataclass(frozen=True)
class Rendezvous:
    """Where ranks find each other: shared memory by its path, or a meeting by its address.

    `begun` is the file in which ranks that share memory note that they began.
    """

    ranks: int
    settings: dict[str, Any]
    arena: int
    meet_timeout_s: float
    rings: str | None = None
    memory: str | None = None
    begun: str | None = None
    meeting: str | None = None
    identity: tuple[str, str] | None = None

    def begin_once(self, rank: int) -> None:
        """Refuse to be a rank whose executor died: it can't go on where that one was."""
        if self.begun is None:
            return
        with open(self.begun, "r+b", buffering=0) as file:
            if os.pread(file.fileno(), 1, rank) == b"1":
                raise RuntimeError(_ONLY_ONCE)
            os.pwrite(file.fileno(), b"1", rank)

    def join(self, rank: int) -> _native.events.EventRank:
        """Become one of the ranks."""
        self.begin_once(rank)
        if self.memory is not None:
            descriptor = os.open(self.memory, os.O_RDWR | os.O_CLOEXEC)
            try:
                return _native.events.EventRank.open(
                    descriptor, rank, self.ranks, arena=self.arena, settings=self.settings
                )
            finally:
                os.close(descriptor)
        assert self.meeting is not None
        assert self.identity is not None
        try:
            return _native.events.meet_ranks(
                self.meeting,
                self.identity,
                rank,
                self.ranks,
                self.meet_timeout_s,
                self.arena,
                self.settings,
            )
        except RankLostError as error:
            if error.rank == rank:
                raise RuntimeError(_ONLY_ONCE) from None
            raise


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
    slots = [worker for worker in workers for _ in range(worker["slots"])]
    ranks = _checked(ranks, slots, each)
    own = each or [()] * ranks
    with open(os.memfd_create("begun"), "r+b", buffering=0) as begun:
        resolved = resolve(settings, ranks)
        # An executor has one core.
        resolved = replace(resolved, workers=resolved.workers or 1)
        place, watch = _place(workers, ranks, resolved, begun.fileno())
        futures = [
            client.submit(
                _be,
                (place, rank, main, tuple(args), tuple(own[rank])),
                {},
                {
                    "name": f"rank {rank}",
                    "worker": worker_number(slots[rank * len(slots) // ranks]["worker"]),
                    "retries": 0,
                    "pure": False,
                },
            )
            for rank in range(ranks)
        ]
        waiting = _Waiting(futures, Grace(watch, resolved.grace_s))
        try:
            return results(waiting.outcomes())
        except BaseException:
            # Also those that go on to compute after another rank has failed.
            client.cancel(futures)
            raise
        finally:
            write_trace(resolved.trace, waiting.found)
            if isinstance(watch, _native.events.EventMeeting):
                watch.close()


def _place(
    workers: list[Any], ranks: int, settings: Settings, begun: int
) -> tuple[Rendezvous, _native.events.EventMemory | _native.events.EventMeeting]:
    """Return where ranks find each other, and what watches over them there."""
    rings, timeout_s = tracing.begin(settings.trace), settings.meet_timeout_s
    common = (ranks, settings.native(), settings.arena, timeout_s, rings)
    elsewhere = [one["host"] for one in workers if one["host"] != socket.gethostname()]
    if not elsewhere:
        memory = _native.events.EventMemory(ranks, arena=settings.arena)
        path, begun_path = (f"/proc/{os.getpid()}/fd/{each}" for each in (memory.fd, begun))
        place = Rendezvous(*common, memory=path, begun=begun_path)
        return place, memory
    identity = _native.tls.make_identity(1)
    address = listen_towards(elsewhere[0]).removeprefix("tcp://")
    meeting = _native.events.EventMeeting(address, identity)
    threading.Thread(target=_hold, args=(meeting, ranks, timeout_s), daemon=True).start()
    place = Rendezvous(*common, meeting=meeting.address, identity=identity)
    return place, meeting


def _checked(ranks: int | None, slots: list[Any], each: Sequence[Sequence[Any]] | None) -> int:
    if ranks is None:
        ranks = len(slots)
    if not 1 <= ranks <= len(slots):
        raise ConfigurationError(
            f"ranks={ranks}: all run at the same time, each on an executor, and the cluster has "
            f"{len(slots)}; ask for 1 to {len(slots)}, or open it with more workers or executors",
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


def _hold(meeting: _native.events.EventMeeting, ranks: int, timeout_s: float) -> None:
    # Ranks that nobody meets, or that disagree, raise themselves, and are heard.
    with contextlib.suppress(OSError, ConfigurationError):
        meeting.hold(ranks, timeout_s)
    meeting.guard()


def _be(
    place: Rendezvous,
    rank: int,
    main: Callable[..., Any],
    args: tuple[Any, ...],
    own: tuple[Any, ...],
) -> bytes:
    """Be a rank, in an executor."""
    try:
        native = place.join(rank)
    except (RankLostError, OSError) as error:
        # Of another rank, which it could not meet.
        return pickled(Outcome(error=error), rank)
    return pickled(carry_out(Rank(native, place.rings), main, args + own), rank)


class _Waiting:
    """Waits for the calls of all ranks; the others hear of it when one is lost."""

    def __init__(self, futures: list[Future], grace: Grace) -> None:
        self._grace = grace
        self._numbers = {future: rank for rank, future in enumerate(futures)}
        self.found = [Outcome() for _ in futures]
        self._left = set(futures)

    def outcomes(self) -> list[Outcome]:
        """Return how the ranks ended, once all have, or one failed so long ago."""
        while self._left and not self._grace.is_over():
            self._wait()
        others = [one for one in self.found if not (one.own and _is_lost(one))]
        if not self._left and others and all(one.error is None for one in others):
            # Whoever asked for lost ranks went on without them.
            return [Outcome() if _is_lost(one) else one for one in self.found]
        return self.found

    def _wait(self) -> None:
        timeout_s = self._grace.wait_s(self._numbers[future] for future in self._left)
        done, self._left = wait(self._left, timeout_s, FIRST_COMPLETED)
        for future in done:
            self._take(future, self._numbers[future])

    def _take(self, future: Future, rank: int) -> None:
        try:
            self.found[rank] = pickle.loads(future.result())
        except Exception as error:
            lost = RankLostError(f"rank {rank} is lost: {error}", rank=rank)
            lost.__cause__ = error
            self.found[rank] = Outcome(error=lost, own=True)
            self._grace.on_lost(rank)
            return
        if self.found[rank].error is not None:
            self._grace.on_failed()


def _is_lost(outcome: Outcome) -> bool:
    return isinstance(outcome.error, RankLostError)
