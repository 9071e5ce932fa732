"""Measure how fast the same Dask graphs run under several schedulers.

A histogram of 1,000 chunks, a blocked matrix product, 20,000 delayed tasks that do nothing and
the DV3 analysis: under freestone, dask.distributed, and Dask's threads and processes, two
single-threaded workers each, started before the clock and warmed up with a small graph of the same
kind. Taken is `dask.compute` as a whole, what Dask does to a graph before it runs included.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.dask_graphs import QUICK, SCHEDULERS, SIZES

QUESTION = "How fast do the same Dask graphs run under several schedulers?"
OWN, OTHERS = SCHEDULERS[0], SCHEDULERS[1:]
SHORT = ("histogram", "delayed")
"""The graphs of tasks under a millisecond."""
TITLES = {
    "histogram": "Histogram of 1,000 chunks",
    "product": "Blocked matrix product",
    "delayed": "20,000 delayed tasks",
    "dv3": "DV3, 60 files",
}


def record(report: common.Report, name: str, found: dict[str, Any]) -> None:
    """Add one turn's samples."""
    if "absent" in found:
        report.absent[name] = found["absent"]
        return
    for case, sample in found["cases"].items():
        report.add(name, case, sample["seconds"], "s", size=sample["size"])


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with dask.distributed on short tasks, and with the best of all on each graph."""
    made = []
    for case in SHORT:
        times = common.ratio(report.median("dask.distributed", case), report.median(OWN, case))
        made.append(common.at_least(f"{case} over dask.distributed", times, 10, "x"))
    for case in TITLES:
        known = [report.median(other, case) for other in OTHERS]
        best = min((seconds for seconds in known if seconds is not None), default=None)
        times = common.ratio(best, report.median(OWN, case))
        made.append(common.at_least(f"{case} over the fastest other", times, 1, "x"))
    return made


def picture(report: common.Report) -> plots.Picture:
    """Return a panel for each graph."""
    panels = [
        plots.Panel(title, "seconds, lower is better", report.series(case))
        for case, title in TITLES.items()
        if report.series(case)
    ]
    return plots.Dots("Dask graphs on two workers", panels, list(SCHEDULERS))


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("graphs", QUESTION, list(SCHEDULERS))
    before = common.machine()
    report = common.Report(QUESTION, {"sizes": QUICK if options.quick else SIZES})

    def measure(name: str) -> None:
        if name not in report.absent:
            target = "benchmarks.dask_graphs:measure"
            record(report, name, turns.take(target, scheduler_name=name, quick=options.quick))

    asked = options.only or SCHEDULERS
    report.absent = {name: "not asked for" for name in SCHEDULERS if name not in asked}
    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    if not report.series("dv3"):
        report.notes.append(
            "dv3: pfnano.root is not there; name its folder in FREESTONE__TEST_DATA"
        )
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
