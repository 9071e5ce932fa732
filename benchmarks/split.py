"""Measure whether the time of an application depends on how many blocks its data are in.

The paper's four applications and its three experiments, on this machine: fragmented (48 blocks
per core and more), balanced (one per core), and the sweep between, at constant data. Freestone
and Dask, each with a call per block, after cutting anew, by partitions, and by partitions made
one array first; and NumPy or scikit-learn alone. Besides: what an iteration over resident
partitions costs, and how look-ups slow down as trees grow.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks import common, plots, turns
from benchmarks.splits.cases import CASES, CORES
from benchmarks.splits.claims import claims

QUESTION = "Does the time depend on how many blocks the data are in?"
PER_CORE = {True: [1, 16], False: [1, 4, 16, 48, 192, 1152]}
RESIDENT = {True: [96], False: [96, 2304, 18432]}
ITERATIONS = {True: 20, False: 100}
TREE_BLOCKS = {True: [1, 4], False: [1, 2, 4, 8, 16, 32, 64, 128]}
SYSTEMS = ("freestone", "dask", "plain", "sweep", "resident", "trees")
DASK_AT_MOST = {"knn": 48}
NOTES = [
    "blocks: a call per block; split: a call per partition; materialize: its blocks joined first,"
    " once; rechunk: a call per block after cutting anew in one block per core, which counts",
    "kernel per block: the kernel alone, called for each of 2,304 blocks in one process; divided by"
    " the cores. Of Cascade SVM: all that its calls do, in sequence",
    "sweep: all fragmentations right after each other, another one first in each round",
    "compiled loop: one process on one core, all points in one array",
    "kernels are the paper's, except where 'best kernel' is said; the same on every system",
    "a run is timed once per turn, after one on other data has loaded what it needs",
    f"kNN on Dask up to {DASK_AT_MOST['knn']} blocks per core, and with a call per block on any:"
    " a tree for each, and a look-up in all of them, take minutes beyond",
]


def record(report: common.Report, subject: str, label: str, found: dict[str, Any]) -> None:
    """Add the samples of a turn."""
    if "absent" in found:
        report.absent[f"{subject} {label}"] = found["absent"]
        return
    for variant, (seconds, figure) in found["cases"].items():
        report.add(f"{subject} {variant}", label, seconds, "s", figure=figure)


def asks_dask(application: str, per_core: int, quick: bool) -> bool:
    """Whether Dask's turn fits in the time."""
    most = DASK_AT_MOST.get(application, per_core)
    return per_core <= most and (not quick or per_core == PER_CORE[quick][-1])


@dataclass(frozen=True)
class Turn:
    """One measurement: a system and, where there are, an application and its blocks."""

    system: str
    application: str = ""
    blocks: int = 0

    def samples(self, report: common.Report) -> int:
        """Return how often it was taken."""
        subject, case = {
            "plain": ("plain plain", self.application),
            "trees": ("trees", "look-ups at 1"),
            "sweep": ("sweep", f"{self.application} blocks at {PER_CORE[False][0]}"),
            "resident": (f"{self.application} resident", f"iteration at {self.blocks}"),
        }.get(self.system, (f"{self.system} split", f"{self.application} {self.blocks}"))
        return len(report.figures.get(subject, {}).get(case, {}).get("samples", []))

    def take(self, report: common.Report, quick: bool) -> None:
        """Take it, and add what it found."""
        if self.system == "trees":
            return grow(report, quick)
        if self.system == "resident":
            return iterate(report, self.application, self.blocks, quick)
        if self.system == "sweep":
            return sweep(report, self.application, self.samples(report), quick)
        target = f"benchmarks.splits.{self.system}:measure"
        asked: dict[str, Any] = {"application": self.application, "quick": quick}
        if self.system == "plain":
            return record(report, self.system, self.application, turns.take(target, **asked))
        found = turns.take(target, **asked, blocks=self.blocks * CORES)
        return record(report, self.system, f"{self.application} {self.blocks}", found)


def all_turns(quick: bool) -> list[Turn]:
    """Return the turns of a round, peers beside each other."""
    found = []
    for application in CASES:
        found += [Turn("plain", application), Turn("sweep", application)]
        for per_core in PER_CORE[quick]:
            found.append(Turn("freestone", application, per_core))
            if asks_dask(application, per_core, quick):
                found.append(Turn("dask", application, per_core))
    for blocks in RESIDENT[quick]:
        found += [Turn("resident", system, blocks) for system in ("freestone", "dask")]
    return [*found, Turn("trees")]


def iterate(report: common.Report, system: str, blocks: int, quick: bool) -> None:
    """Take a turn of an iteration over resident partitions."""
    target = f"benchmarks.splits.resident:{system}"
    found = turns.take(target, blocks=blocks, iterations=ITERATIONS[quick])
    name = f"{system} resident"
    if "absent" in found:
        report.absent[f"{name} {blocks}"] = found["absent"]
        return
    report.add(name, f"iteration at {blocks}", found["iteration_s"] * 1e3, "ms")
    report.add(name, f"split of {blocks}", found["split_s"] * 1e3, "ms")


def sweep(report: common.Report, application: str, first: int, quick: bool) -> None:
    """Take a turn of all fragmentations of an application."""
    asked = {"application": application, "per_core": PER_CORE[quick], "quick": quick}
    found = turns.take("benchmarks.splits.freestone:sweep", **asked, first=first)
    if "absent" in found:
        report.absent[f"sweep {application}"] = found["absent"]
        return
    for label, (seconds, figure) in found["cases"].items():
        report.add("sweep", f"{application} {label}", seconds, "s", figure=figure)


def grow(report: common.Report, quick: bool) -> None:
    """Take the turn of the trees that grow."""
    found = turns.take("benchmarks.splits.trees:measure", blocks=TREE_BLOCKS[quick], quick=quick)
    if "absent" in found:
        report.absent["trees"] = found["absent"]
        return
    for blocks, seconds in found["seconds"].items():
        report.add("trees", f"look-ups at {blocks}", seconds, "s")


def line(report: common.Report, subject: str, application: str, quick: bool) -> plots.Line:
    """Return the medians of a subject over the blocks per core."""
    points = [(each, report.median(subject, f"{application} {each}")) for each in PER_CORE[quick]]
    known = [(x, y) for x, y in points if y is not None]
    dashed = subject.startswith("dask")
    return plots.Line(subject, [x for x, _ in known], [y for _, y in known], dashed)


def pictures(report: common.Report, quick: bool) -> list[plots.Picture]:
    """Return the sweep of each application, and the look-ups against the size of the trees."""
    subjects = [name for name in report.figures if name.startswith(("freestone ", "dask "))]
    charts = {}
    for application in CASES:
        lines = [line(report, subject, application, quick) for subject in subjects]
        charts[application] = [each for each in lines if each.x]
    axes = ("blocks per core", "seconds")
    sweeps = plots.Lines("The same data in more and more blocks", charts, axes)
    times = {name: report.median("trees", f"look-ups at {name}") for name in TREE_BLOCKS[quick]}
    known = [(blocks, seconds) for blocks, seconds in times.items() if seconds is not None]
    trees = {
        "k-nearest neighbours": [
            plots.Line("look-ups", [x for x, _ in known], [y for _, y in known])
        ]
    }
    axes = ("blocks in the tree", "seconds")
    return [sweeps, plots.Lines("Look-ups in trees that grow", trees, axes, "linear", "-trees")]


def ask() -> tuple[common.Options, argparse.Namespace]:
    """Read the command line: what all benchmarks have, and what this one has besides."""
    parser = common.parser("split", QUESTION, SYSTEMS)
    parser.add_argument("--applications", nargs="+", choices=CASES, help="these alone")
    parser.add_argument("--per-core", nargs="+", type=int, metavar="BLOCKS", help="these alone")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no turn after these")
    given = parser.parse_args()
    return common.options("split", given), given


def wanted(turn: Turn, options: common.Options, given: argparse.Namespace) -> bool:
    """Tell whether a turn was asked for."""
    if turn.system not in (options.only or SYSTEMS):
        return False
    if turn.system in ("resident", "trees"):
        return not given.applications
    chosen = turn.application in (given.applications or CASES)
    some = given.per_core or [turn.blocks]
    return chosen and (turn.system in ("plain", "sweep") or turn.blocks in some)


def finish(report: common.Report, options: common.Options) -> None:
    """Judge and show what there is."""
    per_core, resident = PER_CORE[options.quick], RESIDENT[options.quick]
    report.claims = claims(report, per_core, resident, TREE_BLOCKS[options.quick])
    report.pictures = pictures(report, options.quick)


def main() -> None:
    """Take the turns that were taken least, until each has its samples or time is over."""
    options, given = ask()
    before, start = common.machine(), time.monotonic()
    settings = {"blocks_per_core": PER_CORE[options.quick], "cores": CORES}
    report = common.Report(QUESTION, settings, notes=list(NOTES))
    report.go_on(options)
    left = [turn for turn in all_turns(options.quick) if wanted(turn, options, given)]
    while time.monotonic() - start < given.seconds:
        turn = min(left, key=lambda turn: turn.samples(report), default=None)
        if turn is None or turn.samples(report) >= options.rounds:
            break
        print(f"{turn.system} {turn.application} {turn.blocks or ''}", file=sys.stderr, flush=True)
        taken = turn.samples(report)
        turn.take(report, options.quick)
        if turn.samples(report) == taken:
            # It is among those that are absent now.
            left.remove(turn)
        common.save(report, options, before)
    finish(report, options)
    common.write(report, options, before)


if __name__ == "__main__":
    main()
