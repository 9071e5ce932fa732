"""Measure the real manager over real sockets, on a graph for 7,200 cores.

Wraps the Rust example `scale` of `freestone-core`: one process has the manager's thread and a
client that submits the taskvine paper's DV3-Huge, some 182,000 tasks; another has 600 workers of
12 cores, each with a TLS connection of its own, that answer when the time of a call is over and
compute nothing. One worker in twenty is lost at a random moment, and another one joins 5 s later.
Tasks last half to one and a half times their mean: a second, where cores should be busy until
fewer tasks can run than there are cores; and a tenth of that, where the manager is the limit.
`--quick` takes a tenth of tasks and workers.
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

QUESTION = "Does the manager keep 7,200 cores busy?"
MEANS_S = {"tasks of 1 s": 1.0, "tasks of 0.1 s": 0.1}
LIMITED = "tasks of 1 s"
ROOTS, WORKERS, SHARE = 10_000, 600, 10
MAX_S = 280
UNITS = {
    "_s": "s",
    "_per_task": "us",
    "_over_ideal": "x ideal",
    "busy_until_dry": "of the cores",
    "cpu_share": "of a core",
    "rate_until_dry": "tasks/s",
}


def unit(key: str) -> str:
    """Return the unit of a figure of the example; counts have none."""
    return next((unit for ending, unit in UNITS.items() if key.endswith(ending)), "")


def run(mean_s: float, share: int) -> dict[str, float]:
    """Run the example, which cargo builds first if need be; its figures."""
    cargo = os.environ.get("CARGO", "cargo")
    words = ["run", "-q", "--locked", "--release", "-p", "freestone-simulate", "--example", "scale"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scale.json"
        size = ["--roots", str(ROOTS // share), "--workers", str(WORKERS // share)]
        command = [cargo, *words, "--", "--json", str(out), *size, "--mean", str(mean_s)]
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=common.ROOT, check=True, timeout=MAX_S, stdout=quiet)
        return {key: float(value) for key, value in json.loads(out.read_text()).items()}


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted for tasks of a second."""
    busy = report.median(LIMITED, "busy_until_dry")
    percent = None if busy is None else 100 * busy
    failed = report.median(LIMITED, "failed")
    return [
        common.at_least("cores busy until the graph runs dry", percent, 95, "%"),
        common.at_most("results that failed", failed, 0, "tasks"),
    ]


def picture(report: common.Report) -> plots.Picture:
    """Return the figures that tell most, a panel each."""
    cases = {
        "rate_until_dry": "tasks per second",
        "busy_until_dry": "share of the cores that is busy",
        "manager_cpu_us_per_task": "processor time of the manager, µs per task",
        "drained_over_ideal": "time to drain over the ideal",
    }
    panels = [plots.Panel(key, label, report.series(key)) for key, label in cases.items()]
    return plots.Dots(QUESTION, panels, list(MEANS_S))


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("scale", QUESTION, list(MEANS_S))
    before = common.machine()
    share = SHARE if options.quick else 1
    settings = {"roots": ROOTS // share, "workers": WORKERS // share, "cores_of_a_worker": 12}
    report = common.Report(QUESTION, settings)
    asked = options.only or ((LIMITED,) if options.quick else tuple(MEANS_S))

    def measure(subject: str) -> None:
        if subject in report.absent:
            return
        try:
            figures = run(MEANS_S[subject], share)
        except (OSError, subprocess.SubprocessError) as error:
            report.absent[subject] = f"failed: {error}"
            return
        for key, value in figures.items():
            report.add(subject, key, value, unit(key))

    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
