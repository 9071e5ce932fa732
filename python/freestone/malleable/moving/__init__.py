"""Rows on their way: one file for each way of sending them.

See docs/decisions/128-processes-of-a-host-copy-rows-from-memory-to-memory.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freestone.malleable.method import Redistribution
from freestone.malleable.moving.collective import Collective
from freestone.malleable.moving.direct import Direct, Peer, meet_peers, without_local
from freestone.malleable.moving.onesided import OneSided
from freestone.malleable.moving.p2p import PointToPoint
from freestone.malleable.moving.transport import Stream, Transport

__all__ = ["Peer", "Stream", "Transport", "meet_peers", "transport"]

_KINDS: dict[Redistribution, type[Transport]] = {
    "p2p": PointToPoint,
    "collective": Collective,
    "onesided": OneSided,
}


def transport(
    kind: Redistribution,
    bridge: Any,
    streams: list[Stream],
    timeout_s: float,
    peers: Sequence[Peer] = (),
    pushes: bool = False,
) -> Transport:
    """Return what carries `streams` between the processes of a communicator.

    Parameters
    ----------
    peers : sequence of Peer
        All processes, of which those of a host copy what they can reach, whatever the `kind`.
    pushes : bool
        Whether sources copy then.
    """
    if not any(peer.pid for peer in peers):
        return _KINDS[kind](bridge, streams, timeout_s)
    far = without_local(streams, peers)
    rest = None
    if any(stream.moves for stream in far):
        rest = _KINDS[kind](bridge, far, timeout_s)
    return Direct(bridge, streams, timeout_s, peers, pushes, rest)
