"""Measure how many calls run in a second, and how long one takes.

No-op calls by `map` and by `submit`, a chain of dependent calls, a tree of sums and the
latency of a single call: freestone, dask.distributed, ray, ProcessPoolExecutor and parsl,
two single-threaded workers each, started and warm before the clock. A system that would need
minutes for a case runs as many calls as fit in a few seconds; `count` tells how many.
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


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("calls", QUESTION, list(SYSTEMS))
    before = common.machine()
    report = take_turns(options, QUESTION, list(SYSTEMS))
    report.notes += [
        "ray and parsl have no map: their calls are counted under submit",
        "map_chunked: the caller chooses 250 calls a message; the others choose for themselves",
        "count: the calls behind each sample, fewer than wanted where the time did not suffice",
    ]
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
