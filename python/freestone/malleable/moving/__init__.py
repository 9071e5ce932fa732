"""Rows on their way: one file for each way of sending them.

See docs/decisions/017-variable-data-is-sent-as-messages-within-a-node-too.md
"""

from __future__ import annotations

from typing import Any

from freestone.malleable.method import Redistribution
from freestone.malleable.moving.collective import Collective
from freestone.malleable.moving.onesided import OneSided
from freestone.malleable.moving.p2p import PointToPoint
from freestone.malleable.moving.transport import Stream, Transport

__all__ = ["Stream", "Transport", "transport"]

_KINDS: dict[Redistribution, type[Transport]] = {
    "p2p": PointToPoint,
    "collective": Collective,
    "onesided": OneSided,
}


def transport(
    kind: Redistribution, bridge: Any, streams: list[Stream], timeout_s: float
) -> Transport:
    """Return what carries `streams` between the processes of a communicator."""
    return _KINDS[kind](bridge, streams, timeout_s)
