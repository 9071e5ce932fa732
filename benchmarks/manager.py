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
import tempfile
from pathlib import Path

from benchmarks import common, plots

QUESTION = "What does the manager cost per task, and how near the ideal is its schedule?"
SUBJECT = "manager"
UNITS = {
    "million_cpu_us": "us/task",
    "million_bytes": "bytes/task",
    "million_makespan": "x ideal",
    "analysis_cpu_us": "us/task",
    "analysis_bytes": "bytes/task",
    "analysis_makespan": "x ideal",
}
SCALING = "cpu_us_at_"
LONGEST_S = 900
WANTED_US = 3.0


def simulate(quick: bool) -> dict[str, float]:
    """Run the example, which cargo builds first if need be; its figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "manager.json"
        cargo = os.environ.get("CARGO", "cargo")
        words = ["run", "--locked", "--release", "-p", "freestone-core", "--example", "manager"]
        command = [cargo, *words, "--", "--json", str(out), *["--quick"] * quick]
        subprocess.run(command, cwd=common.ROOT, check=True, timeout=LONGEST_S)
        return {key: float(value) for key, value in json.loads(out.read_text()).items()}


def record(report: common.Report, figures: dict[str, float]) -> None:
    """Add one run's samples."""
    for key, value in figures.items():
        unit = "us/task" if key.startswith(SCALING) else UNITS.get(key, "")
        report.add(SUBJECT, key, value, unit)


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""

    def figure(key: str) -> float | None:
        return report.median(SUBJECT, key)

    growth = common.ratio(figure(f"{SCALING}10000"), figure(f"{SCALING}10"))
    return [
        common.at_most("CPU per task", figure("million_cpu_us"), WANTED_US, "us"),
        common.at_most("memory per task", figure("million_bytes"), 400, "bytes"),
        common.at_most("makespan, 1,000,000 tasks", figure("million_makespan"), 1.03, "x ideal"),
        common.at_most(
            "makespan, 185,000 tasks, 1 % of the workers lost",
            figure("analysis_makespan"),
            1.03,
            "x ideal",
        ),
        common.at_most("CPU per task at 10,000 workers over 10", growth, 1.5, "x"),
    ]


def draw(report: common.Report, path: Path) -> None:
    """Draw the CPU time per task over the number of workers."""
    cases = report.figures.get(SUBJECT, {})
    points = sorted(
        (int(case.removeprefix(SCALING)), float(figure["median"]))
        for case, figure in cases.items()
        if case.startswith(SCALING)
    )
    workers = [x for x, _ in points]
    drawn = [
        plots.Line("measured", workers, [y for _, y in points]),
        plots.Line("wanted at most", workers, [WANTED_US] * len(points), dashed=True),
    ]
    labels = ("workers", "CPU time (µs per task)")
    plots.lines({"": drawn}, path, "What the manager costs", labels, y_scale="linear")


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
    common.write(report, options, before)
    draw(report, options.json.with_suffix(".png"))


if __name__ == "__main__":
    main()
