"""Simulate the taskvine paper's two analyses at its sizes, with its dispatcher's speed and ours.

Wraps the Rust example `schedule` of `freestone-core`: freestone's manager on simulated workers of
12 cores, where each call keeps the manager busy for a given time. With the time that TaskVine's
manager spent (its own counters, from the paper's artifact) the simulated times should be the
paper's: that shows how far the simulator can be trusted. With freestone's own time they tell what
the same graphs would take under it, if the tasks themselves took as long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots

QUESTION = "How long would the paper's analyses take, with its dispatcher and with ours?"
CORES = 12
MAX_S = 600
OWN_US = 50.0
"""What a call costs our manager, sockets included: more than `benchmarks.scale` measures."""
MERGE_S = 2.8
"""Seconds of an RS-TriPhoton merge for each skim in it: the one figure that is fitted, to the time
at 2,400 cores."""
TRUSTED = 20
"""Percent by which a simulated time may differ from the paper's."""


@dataclass(frozen=True)
class Run:
    """A run of the paper: what it took there, and what is put into the simulator.

    `work_s` is what all its tasks took together; `send_s` and `receive_s` what its manager was
    busy for, sending and scheduling or taking in results; `counted` is false where the artifact has
    no counters of that very run, so that those of the nearest one are taken.
    """

    kind: str
    workers: int
    paper_s: float
    work_s: float
    send_s: float
    receive_s: float
    calls: int
    counted: bool = True

    @property
    def case(self) -> str:
        """What the run is called in reports."""
        return f"{self.kind}, {self.workers * CORES:,} cores"

    def line(self, seed: int, own: bool) -> str:
        """Give the line of the run for the example."""
        call_us = OWN_US if own else self.send_s / self.calls * 1e6
        result_us = 0.0 if own else self.receive_s / self.calls * 1e6
        words = (self.kind, self.work_s, MERGE_S, self.workers, CORES, call_us, result_us, seed)
        return " ".join(map(str, words))


DV3_CALLS, TRIPHOTON_CALLS = 17_523, 4_055
RUNS = (
    Run("dv3", 10, 1327, 162_594, 347, 23, DV3_CALLS, counted=False),
    Run("dv3", 20, 546, 162_594, 347, 23, DV3_CALLS, counted=False),
    Run("dv3", 50, 485, 162_594, 347, 23, DV3_CALLS),
    Run("dv3", 100, 289, 175_639, 217, 34, DV3_CALLS),
    Run("dv3", 200, 272, 192_473, 223, 35, DV3_CALLS),
    # Its manager was not the limit; per call it is taken to be as fast as with DV3.
    Run("triphoton", 20, 1602, 265_000, 52, 8, TRIPHOTON_CALLS),
    Run("triphoton", 50, 1339, 265_000, 52, 8, TRIPHOTON_CALLS),
    Run("triphoton", 100, 1156, 265_000, 52, 8, TRIPHOTON_CALLS),
    Run("triphoton", 200, 1002, 265_000, 52, 8, TRIPHOTON_CALLS),
)
NAMES = {"dv3": "DV3-Large", "triphoton": "RS-TriPhoton"}
PAPER, THEIRS, OURS = "the paper", "simulated, TaskVine's dispatch", "simulated, ours"


def simulate(lines: Iterable[str]) -> list[dict[str, float]]:
    """Run the example, which cargo builds first if need be; its answers."""
    cargo = os.environ.get("CARGO", "cargo")
    words = ["run", "-q", "--locked", "--release", "-p", "freestone-simulate"]
    words += ["--example", "schedule"]
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [cargo, *words],
        cwd=common.ROOT,
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=MAX_S,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def record(report: common.Report, seed: int) -> None:
    """Simulate every run with both dispatchers, with chance from one seed."""
    for subject, own in ((THEIRS, False), (OURS, True)):
        answers = simulate(run.line(seed, own) for run in RUNS)
        for run, answer in zip(RUNS, answers, strict=True):
            report.add(
                subject, run.case, answer["makespan_s"], "s", manager_busy_s=answer["busy_s"]
            )


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with the paper's times, and what a faster dispatcher would be worth."""
    made = []
    for run in RUNS:
        ratio = common.ratio(report.median(THEIRS, run.case), run.paper_s)
        off = None if ratio is None else abs(100 * (ratio - 1))
        if run.counted:
            made.append(common.at_most(f"{run.case}: off the paper's time", off, TRUSTED, "%"))
    for kind in NAMES:
        last = [run for run in RUNS if run.kind == kind][-1]
        gain = common.ratio(last.paper_s, report.median(OURS, last.case))
        made.append(common.at_least(f"{last.case}: the paper's time over ours", gain, 1, "x"))
    return made


def picture(report: common.Report) -> plots.Picture:
    """Return times over cores, an axis for each analysis."""
    charts = {}
    for kind, name in NAMES.items():
        runs = [run for run in RUNS if run.kind == kind]
        cores = [run.workers * CORES for run in runs]
        charts[name] = [plots.Line(PAPER, cores, [run.paper_s for run in runs])] + [
            plots.Line(subject, cores, [report.median(subject, run.case) or 0 for run in runs])
            for subject in (THEIRS, OURS)
        ]
    return plots.Lines(QUESTION, charts, ("cores", "seconds"))


def main() -> None:
    """Simulate, report and draw."""
    options = common.parse("simulate", QUESTION)
    before = common.machine()
    settings = {"own_us": OWN_US, "merge_s": MERGE_S, "cores_of_a_worker": CORES}
    report = common.Report(QUESTION, settings)
    for run in RUNS:
        report.add(PAPER, run.case, run.paper_s, "s")
    try:
        for seed in range(1, options.rounds + 1):
            record(report, seed)
    except (OSError, subprocess.SubprocessError) as error:
        report.absent[THEIRS] = report.absent[OURS] = f"failed: {error}"
    uncounted = ", ".join(run.case for run in RUNS if not run.counted)
    report.notes.append(f"no counters of the paper's own run, so no claim: {uncounted}")
    report.claims = claims(report)
    report.pictures = [] if report.absent else [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
