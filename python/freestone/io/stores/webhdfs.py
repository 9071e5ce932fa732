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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from freestone.io.stores.location import best_of

__all__ = [
    "BlockLocation",
    "block_locations",
    "http_addresses",
    "is_service",
    "parse_locations",
    "ranked",
]

ADDRESS = "HDFS_HTTP_ADDRESS"
PORT = 9870
ASKED_S, SILENT_S = 5.0, 60.0
MAX_ANSWER = 64 << 20


@dataclass(frozen=True, kw_only=True)
class BlockLocation:
    """A range of bytes of a file, and the hosts that have a copy."""

    offset: int
    nbytes: int
    hosts: tuple[str, ...]


def http_addresses(server: str, settings: Mapping[str, str]) -> list[str]:
    """Return ``host:port`` of the http servers of NameNodes, of which one is the active one.

    Parameters
    ----------
    server
        ``host:port`` of the NameNode, or the name of a service of several.
    settings
        Variables, of which ``HADOOP_CONF_DIR`` says where ``hdfs-site.xml`` is.

    Returns
    -------
    list of str
        That of the variable ``HDFS_HTTP_ADDRESS``; else those that ``hdfs-site.xml`` has for the
        service; else Hadoop's own port on the host of `server`.
    """
    given = os.environ.get(ADDRESS)
    if given:
        return [given]
    reported = _site(settings.get("HADOOP_CONF_DIR", ""))
    nodes = [name.strip() for name in reported.get(f"dfs.ha.namenodes.{server}", "").split(",")]
    found = [reported.get(f"dfs.namenode.http-address.{server}.{node}", "") for node in nodes]
    return [each for each in found if each] or [f"{server.rpartition(':')[0] or server}:{PORT}"]


def is_service(server: str, settings: Mapping[str, str]) -> bool:
    """Tell whether ``hdfs-site.xml`` has a service of this name, of several NameNodes."""
    return f"dfs.ha.namenodes.{server}" in _site(settings.get("HADOOP_CONF_DIR", ""))


@functools.lru_cache(maxsize=16)
def _site(folder: str) -> dict[str, str]:
    """Return the properties of a ``hdfs-site.xml``; none where it can't be read."""
    try:
        root = ElementTree.parse(os.path.join(folder, "hdfs-site.xml")).getroot()
    except (OSError, ElementTree.ParseError):
        return {}
    pairs = ((each.findtext("name"), each.findtext("value")) for each in root.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs if name and value}


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
        return parse_locations(answer.read(MAX_ANSWER))


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
