"""Measure how many calls run in a second, and how long one takes.

No-op calls by `map` and by `submit`, a chain of dependent calls, a tree of sums and the
latency of a single call: freestone, dask.distributed, ray, ProcessPoolExecutor and parsl,
two single-threaded workers each, started and warm before the clock. A system that would need
minutes for a case runs as many calls as fit in a few seconds; `count` tells how many.

Besides, what a call on a small block costs freestone: the processor time of the program, the
manager, the worker and the executors together, without that of the same calls in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.cases import COUNTS, ROUND_TRIPS, SYSTEMS

QUESTION = "How many calls a second, and how long does one take?"
BUDGET_S = {True: 0.5, False: 8.0}
OWN = "freestone"
SMALL_NBYTES = (8192, 16384)
"""Of an array that travels in messages, and of one that is a file in the worker's cache."""
SMALL_COUNT = 2_000
SMALL_REPEATS = {True: 3, False: 10}


def record(report: common.Report, system: str, found: dict[str, Any]) -> None:
    """Add one turn's samples: rates of many calls, times of single ones."""
    if "absent" in found:
        report.absent[system] = found["absent"]
        return
    for case, sample in found["cases"].items():
        count, seconds = sample["count"], sample["seconds"]
        if case in ("round_trip", "nested"):
            report.add(system, case, seconds * 1e6, "us", count=count)
        elif case == "chain":
            report.add(system, case, seconds / count * 1e6, "us/step", count=count)
        else:
            calls = 2 * count - 1 if case == "tree" else count
            report.add(system, case, calls / seconds, "calls/s", count=count)


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted; a peer counts with the better of its map and submit."""

    def best(system: str) -> float | None:
        rates = [report.median(system, case) for case in ("map", "submit")]
        return max((rate for rate in rates if rate is not None), default=None)

    by_map = report.median(OWN, "map")
    return [
        common.at_least("no-op calls by map", by_map, 100_000, "calls/s"),
        common.at_least("no-op calls by submit", report.median(OWN, "submit"), 40_000, "calls/s"),
        common.at_least(
            "calls over dask.distributed", common.ratio(by_map, best("dask.distributed")), 50, "x"
        ),
        common.at_least("calls over ray", common.ratio(by_map, best("ray")), 20, "x"),
        common.at_most("a step of a chain", report.median(OWN, "chain"), 60, "us"),
        common.at_most("a round trip", report.median(OWN, "round_trip"), 100, "us"),
        *(
            common.at_most(
                f"processor time of a call on {nbytes // 1024} KiB",
                report.median(OWN, f"block of {nbytes // 1024} KiB"),
                40,
                "us",
            )
            for nbytes in SMALL_NBYTES
        ),
    ]


def picture(report: common.Report) -> plots.Picture:
    """Return a panel for each case."""
    panels = [
        plots.Panel("No-op calls by map", "calls per second", report.series("map")),
        plots.Panel("No-op calls by submit", "calls per second", report.series("submit")),
        plots.Panel("Tree of sums", "calls per second", report.series("tree")),
        plots.Panel("Step of a chain", "µs, lower is better", report.series("chain")),
        plots.Panel("Round trip", "µs, lower is better", report.series("round_trip")),
    ]
    return plots.Dots("Calls on two single-threaded workers", panels, list(SYSTEMS))


def take_turns(options: common.Options, question: str, systems: Sequence[str]) -> common.Report:
    """Measure the systems that are asked for, in turn."""
    budget_s = BUDGET_S[options.quick]
    settings = {"wanted_counts": {**COUNTS, "round_trip": ROUND_TRIPS}, "budget_s": budget_s}
    report = common.Report(question, settings)

    def measure(system: str) -> None:
        if system not in report.absent:
            found = turns.take("benchmarks.cases:measure", system=system, budget_s=budget_s)
            record(report, system, found)

    asked = options.only or tuple(systems)
    report.absent = {system: "not asked for" for system in systems if system not in asked}
    common.interleave(options.rounds, asked, measure)
    return report


def look_at_blocks(report: common.Report, options: common.Options) -> None:
    """Add what calls on small blocks cost."""
    repeats = SMALL_REPEATS[options.quick]
    asked = {"sizes": list(SMALL_NBYTES), "count": SMALL_COUNT, "repeats": repeats}
    for _ in range(options.rounds):
        found = turns.take("benchmarks.holders.small:measure", **asked)
        if "absent" in found:
            report.absent[f"{OWN}, small blocks"] = found["absent"]
            return
        for name, case in (("read", "block"), ("made", "block made and read")):
            for nbytes, cost_us in found[name].items():
                report.add(OWN, f"{case} of {int(nbytes) // 1024} KiB", cost_us, "us")


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("calls", QUESTION, list(SYSTEMS))
    before = common.machine()
    report = take_turns(options, QUESTION, list(SYSTEMS))
    if OWN not in report.absent:
        look_at_blocks(report, options)
    report.notes += [
        "ray and parsl have no map: their calls are counted under submit",
        "map_chunked: the caller chooses 250 calls a message; the others choose for themselves",
        "count: the calls behind each sample, fewer than wanted where the time did not suffice",
        "block: processor time of all processes for a call on one; 'made and read': of two calls",
    ]
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
