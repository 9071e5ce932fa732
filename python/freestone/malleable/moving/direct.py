"""Rows between processes of one host: one of the two copies them, and needs nothing of the other.

A message needs both ends: where processes share cores, one of them mostly waits for its time slice.

See docs/decisions/128-processes-of-a-host-copy-rows-from-memory-to-memory.md
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from freestone.malleable import together
from freestone.malleable.moving.transport import Mailing, Message, Stream, Transport
from freestone.malleable.plans import Move

__all__ = ["Direct", "Peer", "meet_peers", "reads", "without_local"]

# The iteration between two pieces should not notice one.
_PIECE = 32 << 20
_TOKEN = np.frombuffer(bytearray(secrets.token_bytes(16)), np.uint8)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class Peer:
    """Where a process keeps its rows, for others of its host.

    Attributes
    ----------
    host : str
        Where it runs.
    pid : int
        Its number there; 0 if not all processes may reach the memory of those of their host.
    addresses : dict of str to list of int
        Where the first byte of all rows is, by array, of each part.
    """

    host: str
    pid: int
    addresses: dict[str, list[int]]

    def is_reached(self, other: Peer) -> bool:
        """Tell whether this process and another one reach each other's memory."""
        return self.pid > 0 and self.host == other.host


def meet_peers(
    bridge: Any, host: str, addresses: dict[str, list[int]], timeout_s: float
) -> list[Peer]:
    """Return all processes of a communicator; all of them call it."""
    token, at = _TOKEN.tobytes(), int(_TOKEN.ctypes.data)
    mine = (host, os.getpid(), addresses, token, at)
    found = together.gather_all(bridge, mine, timeout_s, "all hosts")
    refused = sum(
        not reads(pid, at, token) for theirs, pid, _, token, at in found if theirs == host
    )
    are_open = not together.sum_up(bridge, refused, timeout_s, "all hosts")
    return [Peer(theirs, pid if are_open else 0, where) for theirs, pid, where, _, _ in found]


def without_local(streams: Sequence[Stream], peers: Sequence[Peer]) -> list[Stream]:
    """Return streams without the moves that `Direct` carries."""

    def is_far(move: Move) -> bool:
        return not peers[move.source].is_reached(peers[move.target])

    return [
        Stream(each.storage, each.span, list(filter(is_far, each.moves)), each.name, each.part)
        for each in streams
    ]


class _Copy(NamedTuple):
    other: int
    name: str
    here: int
    there: int
    nbytes: int


class Direct(Mailing):
    """Copies rows between processes of one host, and carries others as `rest` does.

    Sources copy where there are more of them than targets, and else targets. Each tells the other
    end when all rows of that one are copied, by a message without content.

    Parameters
    ----------
    peers : sequence of Peer
        All processes.
    pushes : bool
        Whether sources copy.
    rest : Transport, optional
        Carries the moves between hosts.
    """

    def __init__(
        self,
        bridge: Any,
        streams: list[Stream],
        timeout_s: float,
        peers: Sequence[Peer],
        pushes: bool,
        rest: Transport | None,
    ) -> None:
        super().__init__(bridge, streams, timeout_s)
        self._peers, self._rest = peers, rest
        self._copies: deque[_Copy] = deque()
        self._function = _system("process_vm_writev" if pushes else "process_vm_readv")
        self._pushes = pushes
        if rest is not None:
            self.nap_s = rest.nap_s

    def start(self) -> None:
        """Find out what this process has to copy, and await what others do."""
        self.messages = []
        awaited: dict[int, str] = {}
        for stream in self._streams:
            for move in stream.moves:
                ends = (move.source, move.target) if self._pushes else (move.target, move.source)
                if not self._peers[ends[0]].is_reached(self._peers[ends[1]]):
                    continue
                if ends[0] == self._rank:
                    self._copies.extend(self._pieces(stream, move, ends[1]))
                elif ends[1] == self._rank:
                    awaited.setdefault(ends[0], stream.name)
        # All rows of one process behind one another, so that it is told as early as can be.
        self._copies = deque(sorted(self._copies, key=lambda copy: copy.other))
        for other, name in awaited.items():
            request = self._bridge.Irecv(np.empty(0, np.uint8), other, 0)
            self.messages.append(Message(other, request, name, not self._pushes))
        if self._rest is not None:
            self._rest.start()

    def _pieces(self, stream: Stream, move: Move, other: int) -> list[_Copy]:
        here = stream.storage.address
        there = self._peers[other].addresses[stream.name][stream.part]
        return [
            _Copy(other, stream.name, here + at, there + at, min(_PIECE, move.stop - at))
            for at in range(move.start, move.stop, _PIECE)
        ]

    def test(self) -> bool:
        """Copy a piece; tell whether all is through that this process sends or receives."""
        if self._copies:
            self._copy(self._copies.popleft())
        is_through = self.are_through() and not self._copies
        return (self._rest is None or self._rest.test()) and is_through

    def _copy(self, copy: _Copy) -> None:
        if self._sources is not None and copy.other >= self._sources:
            return
        problem = _copied(self._function, self._peers[copy.other].pid, *copy[2:])
        # One that has ended is missed elsewhere.
        if problem not in (0, errno.ESRCH):
            why = f"rows of {copy.name!r} can't be copied {self._way(copy.other)}"
            raise OSError(problem, f"{why}: {os.strerror(problem)}")
        if not self._copies or self._copies[0].other != copy.other:
            request = self._bridge.Isend(np.empty(0, np.uint8), copy.other, 0)
            self.messages.append(Message(copy.other, request, copy.name, self._pushes))

    def _way(self, other: int) -> str:
        return f"{'to' if self._pushes else 'from'} process {other} of the resize"

    def pending(self) -> str:
        """Return what moves, for errors."""
        if self._rest is not None and not self.messages:
            return self._rest.pending()
        return super().pending()

    def drop(self, sources: int) -> None:
        """No longer wait for processes from `sources` on."""
        super().drop(sources)
        if self._rest is not None:
            self._rest.drop(sources)

    def finish(self) -> None:
        """Let go of what the rest needed."""
        if self._rest is not None:
            self._rest.finish()


def _system(name: str) -> Any:
    """Return a function of the C library that gives a number of bytes; None if it has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is not None:
        function.restype = ctypes.c_ssize_t
    return function


def reads(pid: int, at: int, token: bytes) -> bool:
    """Tell whether this process can read bytes of another one, which are known."""
    found = np.empty(len(token), np.uint8)
    function = _system("process_vm_readv")
    is_read = function and not _copied(function, pid, found.ctypes.data, at, len(token))
    return bool(is_read) and found.tobytes() == token


def _copied(function: Callable[..., int], pid: int, here: int, there: int, nbytes: int) -> int:
    """Copy between this process and another one; return the number of the error, 0 for none."""
    done = 0
    while done < nbytes:
        ours, theirs = _Span(here + done, nbytes - done), _Span(there + done, nbytes - done)
        ends = (ctypes.byref(ours), ctypes.c_ulong(1), ctypes.byref(theirs), ctypes.c_ulong(1))
        count = function(pid, *ends, ctypes.c_ulong(0))
        if count <= 0:
            return ctypes.get_errno() or errno.EFAULT
        done += count
    return 0
