"""Measure what each step of the paper's Table I is worth here.

The DV3 analysis, one task for each file and one that adds all up, with one more of the paper's
improvements from row to row: results by way of the program, retained by the workers, functions
that are resident, imports hoisted, the sum as a tree; and last short tasks sharing calls in the
executors themselves. The paper has 17,000 tasks, which the first step would need hours for; so
each step runs as many as take it some ten seconds, cold executors included, and the time for each
task is what counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns

QUESTION = "What is each step from tasks by the program to fused resident calls worth?"
STEPS = ("by the program", "retained", "resident", "hoisted", "tree", "all")
FILES = {
    "by the program": 16,
    "retained": 16,
    "resident": 48,
    "hoisted": 160,
    "tree": 160,
    "all": 640,
}
QUICK = 4


def claims(report: common.Report) -> list[common.Claim]:
    """Compare the last step with the first."""
    times = common.ratio(report.median(STEPS[0], "dv3"), report.median(STEPS[-1], "dv3"))
    return [common.at_least("last step over first", times, 13, "x")]


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("stacks", QUESTION, STEPS)
    before = common.machine()
    share = QUICK if options.quick else 1
    files = {step: count // share for step, count in FILES.items()}
    report = common.Report(QUESTION, {"files": files})

    def measure(step: str) -> None:
        if step in report.absent:
            return
        found = turns.take("benchmarks.hep:measure_step", step=step, files=files[step])
        if "absent" in found:
            report.absent[step] = found["absent"]
        else:
            per_task_ms = found["seconds"] / found["tasks"] * 1e3
            report.add(step, "dv3", per_task_ms, "ms/task", tasks=found["tasks"])

    asked = options.only or STEPS
    report.absent = {step: "not asked for" for step in STEPS if step not in asked}
    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.notes.append("each step starts with cold executors, as each of the paper's runs does")
    report.claims = claims(report)
    panel = plots.Panel("DV3", "ms for each task, lower is better", report.series("dv3"))
    report.pictures = [plots.Dots("The stack, step by step", [panel], list(STEPS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
