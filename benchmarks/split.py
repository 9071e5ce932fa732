"""Measure whether the time of an application depends on how many blocks its data are in.

The paper's four applications and its three experiments, on this machine: fragmented (48 blocks
per core and more), balanced (one per core), and the sweep between, at constant data. Freestone
and Dask, each with a call per block, after cutting anew, by partitions, and by partitions made
one array first; and NumPy or scikit-learn alone. Besides: what an iteration over resident
partitions costs, and how look-ups slow down as trees grow.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import common, plots, turns
from benchmarks.splits.cases import CASES, CORES
from benchmarks.splits.claims import claims

QUESTION = "Does the time depend on how many blocks the data are in?"
PER_CORE = {True: [1, 16], False: [1, 4, 16, 48, 192, 1152]}
RESIDENT = {True: [96], False: [96, 2304, 18432]}
ITERATIONS = {True: 20, False: 100}
TREE_BLOCKS = {True: [1, 4], False: [1, 2, 4, 8, 16, 32, 64, 128]}
SYSTEMS = ("freestone", "dask", "plain", "resident", "trees")
DASK_AT_MOST = {"knn": 48}
NOTES = [
    "blocks: a call per block; split: a call per partition; materialize: its blocks joined first,"
    " once; rechunk: a call per block after cutting anew in one block per core, which counts",
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


def sweep(report: common.Report, system: str, part: Part) -> None:
    """Take a system's turns: each application at each number of blocks."""
    target = f"benchmarks.splits.{system}:measure"
    for application in part.applications:
        if system == "plain":
            found = turns.take(target, application=application, quick=part.quick)
            record(report, system, application, found)
            continue
        for per_core in part.per_core:
            if system == "dask" and not asks_dask(application, per_core, part.quick):
                continue
            blocks = per_core * CORES
            found = turns.take(target, application=application, blocks=blocks, quick=part.quick)
            record(report, system, f"{application} {per_core}", found)


def iterate(report: common.Report, quick: bool) -> None:
    """Take the turns of an iteration over resident partitions."""
    for system in ("freestone", "dask"):
        for blocks in RESIDENT[quick]:
            target = f"benchmarks.splits.resident:{system}"
            found = turns.take(target, blocks=blocks, iterations=ITERATIONS[quick])
            if "absent" in found:
                report.absent[f"{system} resident {blocks}"] = found["absent"]
                continue
            name = f"{system} resident"
            report.add(name, f"iteration at {blocks}", found["iteration_s"] * 1e3, "ms")
            report.add(name, f"split of {blocks}", found["split_s"] * 1e3, "ms")


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


def draw(report: common.Report, quick: bool, path: Path) -> None:
    """Draw the sweep of each application, and the look-ups against the size of the trees."""
    subjects = [name for name in report.figures if name.startswith(("freestone ", "dask "))]
    charts = {}
    for application in CASES:
        lines = [line(report, subject, application, quick) for subject in subjects]
        charts[application] = [each for each in lines if each.x]
    axes = ("blocks per core", "seconds")
    plots.lines(charts, path, "The same data in more and more blocks", axes)
    times = {name: report.median("trees", f"look-ups at {name}") for name in TREE_BLOCKS[quick]}
    known = [(blocks, seconds) for blocks, seconds in times.items() if seconds is not None]
    trees = {
        "k-nearest neighbours": [
            plots.Line("look-ups", [x for x, _ in known], [y for _, y in known])
        ]
    }
    if known:
        below = path.with_name(f"{path.stem}-trees.png")
        axes = ("blocks in the tree", "seconds")
        plots.lines(trees, below, "Look-ups in trees that grow", axes, "linear")


@dataclass(frozen=True)
class Part:
    """What of the whole is measured."""

    applications: Sequence[str]
    per_core: Sequence[int]
    rounds: int
    quick: bool


def ask() -> tuple[common.Options, Part, bool]:
    """Read the command line; the last: whether samples are added to those of the report."""
    parser = common.parser("split", QUESTION, SYSTEMS)
    parser.add_argument(
        "--applications", nargs="+", choices=CASES, default=list(CASES), help="these alone"
    )
    parser.add_argument("--per-core", nargs="+", type=int, metavar="BLOCKS", help="these alone")
    parser.add_argument("--rounds", type=int, help="5, or 1 with --quick")
    parser.add_argument("--add", action="store_true", help="to the samples that the report has")
    given = parser.parse_args()
    options = common.options("split", given)
    per_core = given.per_core or PER_CORE[options.quick]
    rounds = given.rounds or options.rounds
    return options, Part(given.applications, per_core, rounds, options.quick), given.add


def main() -> None:
    """Measure, report and draw."""
    options, part, is_added = ask()
    before = common.machine()
    settings = {"blocks_per_core": PER_CORE[options.quick], "cores": CORES}
    report = common.Report(QUESTION, settings, notes=list(NOTES))
    asked = options.only or SYSTEMS
    if is_added and options.json.exists():
        report.figures = json.loads(options.json.read_text())["figures"]
    else:
        report.absent = {name: "not asked for" for name in SYSTEMS if name not in asked}

    def measure(system: str) -> None:
        if system in ("freestone", "dask", "plain"):
            sweep(report, system, part)
        elif system == "resident":
            iterate(report, options.quick)
        else:
            grow(report, options.quick)

    common.interleave(part.rounds, asked, measure)
    report.claims = claims(
        report, PER_CORE[options.quick], RESIDENT[options.quick], TREE_BLOCKS[options.quick]
    )
    common.write(report, options, before)
    draw(report, options.quick, options.json.with_suffix(".png"))


if __name__ == "__main__":
    main()
