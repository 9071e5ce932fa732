"""What a region of a script takes, as the system counts it."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from freestone.lang.front.graph.graph import Op

COUNTERS = {
    "page_faults": "ru_minflt",
    "page_faults_from_disk": "ru_majflt",
    "waits": "ru_nvcsw",
    "interruptions": "ru_nivcsw",
}
"""What the system counts for the process, and its names for it."""


def sample() -> dict[str, float]:
    """Read the clock and the system's counters."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    found: dict[str, float] = {
        "seconds": time.perf_counter(),
        "cpu_seconds": used.ru_utime + used.ru_stime,
    }
    return found | {name: getattr(used, field) for name, field in COUNTERS.items()}


def start_profiling(run: Any, op: Op) -> None:
    """Begin a region."""
    run.regions.append(sample())


def stop_profiling(run: Any, op: Op, region: str) -> None:
    """End the region that began last, and tell what it took."""
    if not run.regions:
        raise ValueError(f"stopProfiling({region!r}) without startProfiling() before it")
    tell(run, region, run.regions.pop())


def tell(run: Any, region: str, begin: dict[str, float]) -> None:
    """Write what was taken since `begin`: one line of JSON on standard error."""
    now = sample()
    taken = {name: round(now[name] - value, 6) for name, value in begin.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = {"region": region, **taken, "peak_memory_bytes": peak}
    run.out.flush()
    print(json.dumps(line), file=run.errors or sys.stderr)
