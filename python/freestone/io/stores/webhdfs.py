"""Which hosts hold which bytes of a file in HDFS.

The client that reads and writes does not tell, so the NameNode is asked over http. Where bytes lie
is a hint: without an answer blocks are read by whichever worker is free.
"""

from __future__ import annotations

import functools
import json
import os
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from freestone.io.stores.place import best_of

__all__ = ["BlockLocation", "block_locations", "http_address", "parse_locations", "ranked"]

ADDRESS = "HDFS_HTTP_ADDRESS"
PORT = 9870
ASKED_S, SILENT_S = 5.0, 60.0
LARGEST_ANSWER = 64 << 20


@dataclass(frozen=True, kw_only=True)
class BlockLocation:
    """A range of bytes of a file, and the hosts that have a copy."""

    offset: int
    nbytes: int
    hosts: tuple[str, ...]


def http_address(server: str) -> str:
    """Return ``host:port`` of the NameNode's http server.

    That of the variable ``HDFS_HTTP_ADDRESS``, else Hadoop's own port on the host of `server`,
    which is ``host:port`` or the name of a service.
    """
    return os.environ.get(ADDRESS) or f"{server.rpartition(':')[0] or server}:{PORT}"


def block_locations(
    address: str, path: str, user: str | None, stamp: tuple[Any, ...]
) -> tuple[BlockLocation, ...]:
    """Ask a NameNode where the blocks of a file are; nothing if it can't be asked.

    Parameters
    ----------
    address
        Its http server, as ``host:port``.
    path
        The file.
    user
        Who asks.
    stamp
        The file's version: the answer is kept for it.

    Notes
    -----
    A server that does not answer, is older or wants Kerberos here is not asked again for a minute,
    so that not every block waits for it.
    """
    if time.monotonic() < _silent_until.get(address, 0.0):
        return ()
    try:
        return _asked(address, path, user, stamp)
    except OSError:
        _silent_until[address] = time.monotonic() + SILENT_S
        return ()


_silent_until: dict[str, float] = {}


@functools.lru_cache(maxsize=1024)
def _asked(
    address: str, path: str, user: str | None, stamp: tuple[Any, ...]
) -> tuple[BlockLocation, ...]:
    words = {"op": "GETFILEBLOCKLOCATIONS", **({"user.name": user} if user else {})}
    url = f"http://{address}/webhdfs/v1{quote(path)}?{urlencode(words)}"
    with urllib.request.urlopen(url, timeout=ASKED_S) as answer:
        return parse_locations(answer.read(LARGEST_ANSWER))


def parse_locations(answer: bytes) -> tuple[BlockLocation, ...]:
    """Read the answer of ``GETFILEBLOCKLOCATIONS``; nothing if it is none."""
    try:
        found = json.loads(answer)["BlockLocations"]["BlockLocation"]
        blocks = [
            BlockLocation(
                offset=int(each["offset"]),
                nbytes=int(each["length"]),
                hosts=tuple(map(str, each["hosts"])),
            )
            for each in found
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(blocks)


def ranked(blocks: Sequence[BlockLocation], start: int, stop: int) -> list[str]:
    """Return the hosts that hold most of bytes ``start:stop``."""
    held: Counter[str] = Counter()
    for block in blocks:
        inside = min(stop, block.offset + block.nbytes) - max(start, block.offset)
        if inside > 0:
            held.update(dict.fromkeys(block.hosts, inside))
    return best_of(held)
