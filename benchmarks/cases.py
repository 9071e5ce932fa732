"""One system's turn in a round of `benchmarks.calls`: all cases."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers.base import Peer

SYSTEMS = {
    "freestone": ("benchmarks.peers.freestone", "Freestone"),
    "dask.distributed": ("benchmarks.peers.dask", "Dask"),
    "ray": ("benchmarks.peers.ray", "Ray"),
    "ProcessPoolExecutor": ("benchmarks.peers.pool", "Pool"),
    "parsl": ("benchmarks.peers.parsl", "Parsl"),
}
SERVED = {
    "freestone serve": ("benchmarks.peers.served", "Served"),
    "freestone": SYSTEMS["freestone"],
    "dask scheduler": ("benchmarks.peers.served", "DaskScheduler"),
    "ray": SYSTEMS["ray"],
}
"""Those whose manager has a process of its own, and one for comparison."""
COUNTS = {"map": 15_000, "map_chunked": 15_000, "submit": 15_000, "chain": 2_000, "tree": 10_000}
COUNTS |= {"actor": 15_000, "stream": 5_000}
COUNTS |= {"map_of_clients": 15_000, "submit_of_clients": 15_000}
PROBES = {"map": 200, "map_chunked": 2_000, "submit": 200, "chain": 20, "tree": 100}
PROBES |= {"actor": 200, "stream": 200, "map_of_clients": 600, "submit_of_clients": 600}
ROUND_TRIPS = 1_000
NESTED = 500


def clock(case: Callable[[int], Any], count: int) -> float:
    """Return the seconds that `case(count)` takes."""
    start = time.perf_counter()
    case(count)
    return time.perf_counter() - start


def timed(case: Callable[[int], Any], name: str, budget_s: float) -> dict[str, float]:
    """Time a case with as many calls as wanted, or as fit in the time when those don't."""
    probe = PROBES[name]
    clock(case, probe)
    per_call = clock(case, probe) / probe
    count = int(min(COUNTS[name], max(probe, budget_s / per_call)))
    return {"count": count, "seconds": clock(case, count)}


def round_trips(peer: Peer, budget_s: float) -> dict[str, float]:
    """Return the median time of single calls."""
    for _ in range(10):
        peer.round_trip()
    samples: list[float] = []
    end = time.perf_counter() + budget_s
    while len(samples) < ROUND_TRIPS and (time.perf_counter() < end or len(samples) < 20):
        start = time.perf_counter()
        peer.round_trip()
        samples.append(time.perf_counter() - start)
    return {"count": len(samples), "seconds": statistics.median(samples)}


def nested(peer: Any) -> dict[str, float]:
    """Return the median time in which a call submits another and has its result."""
    peer.nested(10)
    samples = peer.nested(NESTED)
    return {"count": len(samples), "seconds": statistics.median(samples)}


def measure(system: str, budget_s: float) -> dict[str, Any]:
    """Measure all cases of a system, each for about `budget_s` seconds at most."""
    module, name = (SYSTEMS | SERVED)[system]
    with getattr(importlib.import_module(module), name)() as peer:
        names = ["submit", "chain", "tree"]
        names += ["map"] * peer.has_map + ["map_chunked"] * hasattr(peer, "map_chunked")
        several = ("map_of_clients", "submit_of_clients")
        shared = ("actor", "stream", *several) if system in SERVED else ()
        names += [name for name in shared if hasattr(peer, name)]
        cases = {name: timed(getattr(peer, name), name, budget_s) for name in names}
        cases["round_trip"] = round_trips(peer, budget_s)
        if system in SERVED and hasattr(peer, "nested"):
            cases["nested"] = nested(peer)
        return {"cases": cases}
