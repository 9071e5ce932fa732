"""Measure pipelines of climate and imaging users on blocks that are there already.

Group means, anomalies, rolling means, an overlap filter, a rechunk, percentiles, standardisation
and a correlation, by xarray and dask.array, under freestone, dask.distributed and threads: two
single-threaded workers each, their input persisted before the clock starts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.array_pipelines import PIPELINES, QUICK, SCHEDULERS, SIZES

QUESTION = "How fast do pipelines of xarray and dask.array run under several schedulers?"
OWN, OTHERS = SCHEDULERS[0], SCHEDULERS[1:]


def record(report: common.Report, name: str, found: dict[str, Any]) -> None:
    """Add one turn's samples."""
    if "absent" in found:
        report.absent[name] = found["absent"]
        return
    for case, sample in found["cases"].items():
        report.add(name, case, sample["seconds"], "s", nbytes=sample["nbytes"])


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with the fastest other, and the rechunk with dask.distributed."""
    made = []
    for case in PIPELINES:
        known = [report.median(other, case) for other in OTHERS]
        best = min((seconds for seconds in known if seconds is not None), default=None)
        times = common.ratio(best, report.median(OWN, case))
        made.append(common.at_least(f"{case} over the fastest other", times, 1, "x"))
    times = common.ratio(
        report.median("dask.distributed", "rechunk"), report.median(OWN, "rechunk")
    )
    made.append(common.at_least("rechunk over dask.distributed", times, 2, "x"))
    return made


def picture(report: common.Report) -> plots.Picture:
    """Return a panel for each pipeline."""
    panels = [
        plots.Panel(case.replace("_", " "), "seconds, lower is better", report.series(case))
        for case in PIPELINES
        if report.series(case)
    ]
    return plots.Dots("Array pipelines on two workers", panels, list(SCHEDULERS))


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("arrays", QUESTION, list(SCHEDULERS))
    before = common.machine()
    report = common.Report(QUESTION, {"sizes": QUICK if options.quick else SIZES})

    def measure(name: str) -> None:
        if name not in report.absent:
            target = "benchmarks.array_pipelines:measure"
            record(report, name, turns.take(target, scheduler_name=name, quick=options.quick))

    asked = options.only or SCHEDULERS
    report.absent = {name: "not asked for" for name in SCHEDULERS if name not in asked}
    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
