"""Measure the manager alone: no sockets, simulated workers, a virtual clock.

Wraps the Rust example `manager` of `freestone-core`, which drives the manager's state machine:
1,000,000 tasks on 600 workers of 12 cores, and the 185,000-task analysis graph with 1 % of the
workers lost. What is told is the CPU time and the memory per task, the makespan against the
ideal, and the CPU time per task as the number of workers grows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots

QUESTION = "What does the manager cost per task, and how near the ideal is its schedule?"
SUBJECT = "manager"
ENDINGS = {
    "_cpu_ns_per_task": "ns/task",
    "_bytes_per_task": "bytes/task",
    "_over_ideal": "x ideal",
    "_over_ideal_with_loss": "x ideal",
    "_over_bound": "x bound",
    "_over_blind": "x lister",
    "_over_clairvoyant": "x lister",
    "_over_work": "x",
    "_ratio": "x",
    "_core_s": "core-s",
    "_s": "s",
    "_gb": "GB",
}
MILLION, ANALYSIS, SCALING = "tasks_1m", "graph_185k", "workers_"
CPU = "_cpu_ns_per_task"
MAX_S = 900
WANTED_US = 3.0


def unit(key: str) -> str:
    """Return the unit of a figure of the example; counts have none."""
    return next((unit for ending, unit in ENDINGS.items() if key.endswith(ending)), "")


def simulate(quick: bool) -> dict[str, float]:
    """Run the example, which cargo builds first if need be; its figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "manager.json"
        cargo = os.environ.get("CARGO", "cargo")
        words = ["run", "--locked", "--release", "-p", "freestone-simulate", "--example", "manager"]
        command = [cargo, *words, "--", "--json", str(out), *["--quick"] * quick]
        subprocess.run(command, cwd=common.ROOT, check=True, timeout=MAX_S)
        found = json.loads(out.read_text())
        return {key: float(value) for key, value in found.items() if key != "quick"}


def record(report: common.Report, figures: dict[str, float]) -> None:
    """Add one run's samples."""
    for key, value in figures.items():
        report.add(SUBJECT, key, value, unit(key))


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""

    def figure(key: str) -> float | None:
        return report.median(SUBJECT, key)

    def costs(prefix: str, name: str) -> list[common.Claim]:
        cpu_us = common.ratio(figure(f"{prefix}{CPU}"), 1000.0)
        nbytes, over = figure(f"{prefix}_bytes_per_task"), figure(f"{prefix}_makespan_over_ideal")
        return [
            common.at_most(f"{name}: CPU per task", cpu_us, WANTED_US, "us"),
            common.at_most(f"{name}: memory per task", nbytes, 400, "bytes"),
            common.at_most(f"{name}: makespan", over, 1.03, "x ideal"),
        ]

    growth = figure(f"{SCALING}ratio")
    return [
        *costs(MILLION, "1,000,000 tasks"),
        *costs(ANALYSIS, "185,000-task graph, 1 % of the workers lost"),
        common.at_most("CPU per task at 10,000 workers over 10", growth, 1.5, "x"),
    ]


def picture(report: common.Report) -> plots.Picture:
    """Return the CPU time per task over the number of workers."""
    cases = report.figures.get(SUBJECT, {})
    points = sorted(
        (int(case.removeprefix(SCALING).removesuffix(CPU)), float(figure["median"]) / 1000)
        for case, figure in cases.items()
        if case.startswith(SCALING) and case.endswith(CPU)
    )
    workers = [x for x, _ in points]
    drawn = [
        plots.Line("measured", workers, [y for _, y in points]),
        plots.Line("wanted at most", workers, [WANTED_US] * len(points), dashed=True),
    ]
    labels = ("workers", "CPU time (µs per task)")
    return plots.Lines("What the manager costs", {"": drawn}, labels, y_scale="linear")


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("manager", QUESTION)
    before = common.machine()
    report = common.Report(QUESTION)

    def measure(_: str) -> None:
        if SUBJECT in report.absent:
            return
        try:
            record(report, simulate(options.quick))
        except (OSError, subprocess.SubprocessError) as error:
            report.absent[SUBJECT] = f"failed: {error}"

    common.interleave(options.rounds, [SUBJECT], measure)
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
