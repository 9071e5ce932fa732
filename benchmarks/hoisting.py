"""The calls of `benchmarks.imports`: a kind of isolation per turn, and what Python itself costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.functions import linger

EXECUTORS = 2
PROBE = 4


def little(seed: float, work_s: float) -> float:
    """Import numpy, do a little with it, and compute until `work_s` seconds have passed."""
    start = time.perf_counter()
    import numpy as np

    vector = np.arange(16.0) + seed
    total = float(vector @ vector)
    while time.perf_counter() - start < work_s:
        total += float(vector @ vector)
    return total


def freestone(
    isolation: str, hoist: bool, works_s: list[float], count: int, budget_s: float
) -> dict[str, Any]:
    """Make `count` calls for each amount of work, or as many as fit in `budget_s` seconds."""
    import freestone as fs

    options: Any = {"isolation": isolation, "hoist": hoist, "pure": False}
    cases = {}
    with fs.Cluster(workers=1, executors=EXECUTORS) as cluster:
        cluster.gather([cluster.submit(linger, 0.1, pure=False) for _ in range(2 * EXECUTORS)])

        def seconds_of(calls: int, work_s: float) -> float:
            start = time.perf_counter()
            works = [work_s] * calls
            cluster.gather(cluster.map(little, range(calls), works, **options))
            return time.perf_counter() - start

        for work_s in works_s:
            per_call = seconds_of(PROBE, work_s) / PROBE
            calls = int(min(count, max(PROBE, budget_s / per_call)))
            cases[f"{work_s * 1e3:g} ms"] = {"count": calls, "seconds": seconds_of(calls, work_s)}
    return {"cases": cases}


def python(repeats: int) -> dict[str, Any]:
    """Measure what an interpreter, a fork and the import of numpy cost, each by itself.

    Must run before this process has imported numpy.
    """
    if "numpy" in sys.modules:
        raise RuntimeError("numpy is imported already: its import can't be measured in a fork")
    samples = {
        "interpreter": [interpreter("pass") for _ in range(repeats)],
        "interpreter, import": [interpreter("import numpy") for _ in range(repeats)],
        "fork, import": [forked() for _ in range(repeats)],
    }
    import numpy  # noqa: F401

    samples["fork"] = [forked() for _ in range(repeats)]
    return {
        "cases": {
            name: {"count": repeats, "seconds": statistics.median(found) * repeats}
            for name, found in samples.items()
        }
    }


def interpreter(code: str) -> float:
    """Return the seconds that a new interpreter takes for `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def forked() -> float:
    """Return the seconds that a child of this process takes to do a little."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        little(0.0, 0.0)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - start
