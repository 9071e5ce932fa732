"""What all ways of sending rows have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from freestone.errors import SpawnFailedError
from freestone.malleable.plans import Move
from freestone.malleable.storage import Storage
from freestone.malleable.waiting import wait_until

__all__ = ["Mailing", "Message", "Stream", "Transport"]


@dataclass(frozen=True)
class Stream:
    """Bytes of one part of an array that change their process.

    Attributes
    ----------
    storage : Storage
        The part's, of this process.
    span : tuple of int
        Where the bytes begin and end that this process has; some in between may be others'.
    moves : list of Move
        Of all processes, in bytes of the part's global order; none from a process to itself.
    name : str
        The array's.
    part : int
        Which of the array's parts.
    """

    storage: Storage
    span: tuple[int, int]
    moves: list[Move]
    name: str = ""
    part: int = 0


class Transport(ABC):
    """Carries streams from sources to targets, once.

    Parameters
    ----------
    bridge : mpi4py communicator
        Of all sources and targets, all of which make one of these, with the same moves.
    streams : list of Stream
        What to carry.
    timeout_s : float
        How long a wait may take.

    Attributes
    ----------
    nap_s : float
        How long who waits for it may sleep between two looks: as long as a few packets of a
        message take to gather.
    sent_nbytes : int
        What this process has sent, or let others get.
    """

    nap_s = 100e-6

    def __init__(self, bridge: Any, streams: list[Stream], timeout_s: float) -> None:
        self._bridge = bridge
        self._streams = streams
        self._timeout_s = timeout_s
        self._rank: int = bridge.rank
        self.sent_nbytes = sum(
            move.stop - move.start
            for stream in streams
            for move in stream.moves
            if move.source == self._rank
        )

    @abstractmethod
    def start(self) -> None:
        """Begin; returns at once, or after all others have begun."""

    @abstractmethod
    def test(self) -> bool:
        """Tell whether this process has sent and received all of its own."""

    def wait(self) -> None:
        """Wait until `test` says so.

        Raises
        ------
        ResizeTimeoutError
            If it does not in time.
        """
        wait_until(self.test, self._timeout_s, lambda: f"moving {self.pending()}", self.nap_s)

    def pending(self) -> str:
        """Return what moves, for errors: all arrays, as nobody knows of which rows are missing."""
        names = {stream.name: None for stream in self._streams if stream.moves}
        return f"rows of {', '.join(map(repr, names))}" if names else "rows"

    def drop(self, sources: int) -> None:
        """No longer wait for processes from `sources` on, which are lost.

        Raises
        ------
        SpawnFailedError
            On all processes alike, if this transport needs all of them for what it has to carry.
        """
        if any(stream.moves for stream in self._streams):
            raise SpawnFailedError(
                f"new processes were lost while rows moved by {type(self).__name__.lower()} "
                "means, which need all that take part; a method with p2p goes on without them"
            )

    def finish(self) -> None:  # noqa: B027
        """Let go of what was needed; all processes call it, after `test` was true on them."""

    def _mine(self, stream: Stream, pick: Callable[[Move], int]) -> list[Move]:
        return [move for move in stream.moves if pick(move) == self._rank]


@dataclass(frozen=True)
class Message:
    """A message that is not through yet.

    Attributes
    ----------
    other : int
        The process at the other end.
    request : mpi4py request
        What to test.
    name : str
        The array of which it carries rows.
    sends : bool
        Whether this process sends it.
    """

    other: int
    request: Any
    name: str
    sends: bool


class Mailing(Transport):
    """Carries by messages of which each has one other end.

    Attributes
    ----------
    messages : list of Message
        What is not through yet.
    """

    messages: list[Message]
    _sources: int | None = None

    def drop(self, sources: int) -> None:
        """No longer wait for processes from `sources` on."""
        # Another thread may be testing them.
        self._sources = sources

    def are_through(self) -> bool:
        """Tell whether all messages are through, of those that are still wanted."""
        last = self._sources
        self.messages = [
            message
            for message in self.messages
            if (last is None or message.other < last) and not message.request.Test()
        ]
        return not self.messages

    def pending(self) -> str:
        """Return what moves, for errors: the first rows that are missing, and from or to whom."""
        # What is not received says more: small messages count as sent before they are taken.
        first = min(self.messages, key=lambda message: message.sends, default=None)
        if first is None:
            return super().pending()
        way = "to" if first.sends else "from"
        return f"rows of {first.name!r} {way} process {first.other} of the resize"


def remaining(requests: list[Any]) -> list[Any]:
    """Return the requests that are not done yet.

    One by one: MPICH's ``Testall`` was seen to fail with many of them.
    """
    return [request for request in requests if not request.Test()]
