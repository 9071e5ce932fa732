"""Measure what a wide reduction costs each worker: in one task, in a tree, by place.

The tri-photon analysis with a fine table of masses for each file, 8 MB each, on four workers: added
up by one task, by a binary tree of tasks (the paper's Figure 11), and by place first in order of
arrival, which is what a task of a known reducer becomes. What counts is the most that any worker's
cache held, and the time.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns

QUESTION = "How much must a worker hold in a wide reduction, and how long does it take?"
WAYS = ("single", "tree", "by place")
WORKERS = 4
FILES = {True: 96, False: 192}


def claims(report: common.Report) -> list[common.Claim]:
    """Compare the peak by place with that of the single task."""
    times = common.ratio(report.median("single", "peak"), report.median("by place", "peak"))
    seconds = common.ratio(report.median("single", "time"), report.median("by place", "time"))
    return [
        common.at_least("peak cache of a worker: single task over by place", times, 5, "x"),
        common.at_least("time: single task over by place", seconds, 1, "x"),
    ]


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("reduction", QUESTION, WAYS)
    before = common.machine()
    files = FILES[options.quick]
    report = common.Report(QUESTION, {"files": files, "workers": WORKERS})

    def measure(way: str) -> None:
        if way in report.absent:
            return
        target = "benchmarks.hep:measure_way"
        found = turns.take(target, way=way, files=files, workers=WORKERS)
        if "absent" in found:
            report.absent[way] = found["absent"]
            return
        report.add(way, "peak", found["peak"] / 2**20, "MiB", table=found["table"])
        report.add(way, "time", found["seconds"], "s")

    asked = options.only or WAYS
    report.absent = {way: "not asked for" for way in WAYS if way not in asked}
    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report)
    panels = [
        plots.Panel("Peak cache of a worker", "MiB, lower is better", report.series("peak")),
        plots.Panel("Time", "seconds, lower is better", report.series("time")),
    ]
    title = f"Adding up {files} tables on {WORKERS} workers"
    report.pictures = [plots.Dots(title, panels, list(WAYS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
