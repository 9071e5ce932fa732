"""Measure what it gains an application on a slow network to go on while its data moves.

The synthetic application on hosts that are network namespaces, with links of 1 Gb/s: 600 MB of
constant and 20 MB of variable data, 100 iterations on 2 processes, 200 in all, the rest on 4.
Overlapped Merge, with processes that become the ranks whose rows they have, against synchronous
collective Baseline, the paper's reference. Needs root, `ip` and `tc`.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots
from benchmarks.resizing.namespaces import NoNamespacesError, hosts
from freestone.errors import FreestoneError
from freestone.malleable import Method
from freestone.malleable.synthetic import Group, Phase, Settings, Stage, launching

QUESTION = "What does it gain on a slow network to go on while data moves?"
REFERENCE = "baseline-collective-sync"
SUBJECTS = (
    REFERENCE,
    "baseline-p2p-sync",
    "merge-p2p-sync",
    "merge-p2p-nonblocking",
    "merge-collective-nonblocking",
    "merge-p2p-thread",
)
QUICK = 4
RATE, NBYTES_S = "1gbit", 125e6


def application() -> Settings:
    """Return what is run."""
    stages = (
        Stage("matvec", 0.02, granularity=200),
        Stage("allreduce", nbytes=8),
        Stage("allgatherv", nbytes=100_000),
    )
    return Settings(
        phases=(Phase(200, stages),),
        groups=(Group(2, 100),),
        constant_nbytes=600_000_000,
        variable_nbytes=20_000_000,
        share=False,
        factors={2: 1.0, 4: 0.5},
    )


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("overlap", QUESTION, SUBJECTS)
    before = common.machine()
    settings = application()
    report = common.Report(QUESTION, {"rate": RATE, "hosts": 4, "application": str(settings)})
    report.go_on(options)
    # A shorter application would have less to gain.
    asked = options.only or (SUBJECTS[:QUICK] if options.quick else SUBJECTS)

    def measure(subject: str) -> None:
        try:
            with hosts(4, RATE) as mpiexec:
                run = settings.between(2, 4, Method.parse(subject))
                found = launching.launch(run, mpiexec, timeout_s=100)
        except (NoNamespacesError, FreestoneError) as error:
            report.absent[subject] = str(error)
            return
        if not found["resizes"]:
            report.absent[subject] = "the application ended before the resize"
            return
        resize = found["resizes"][0]
        report.add(subject, "the application", found["total_s"], "s")
        report.add(subject, "the resize", resize["total_s"], "s", error=resize["error"])
        report.add(subject, "the data", resize["data_s"], "s")
        report.add(subject, "iterations meanwhile", resize["steps"], "")
        report.add(subject, "moved", resize["moved_nbytes"] / 1e6, "MB")
        common.save(report, options, before)

    common.interleave(options.rounds, asked, measure)
    times = report.series("the application")
    overlapped = [times[name] for name in times if Method.parse(name).is_overlapped]
    gain = common.ratio(times.get(REFERENCE), min(overlapped, default=None))
    name = "overlapped Merge over synchronous collective Baseline"
    report.claims = [common.at_least(name, gain, 1.14, "x")]
    for subject in (REFERENCE, "baseline-p2p-sync", "merge-p2p-sync"):
        # Two sources, each with a card of its own, send what moves.
        moved = report.median(subject, "moved")
        bound = None if moved is None else moved * 1e6 / 2 / NBYTES_S
        over = common.ratio(report.median(subject, "the data"), bound)
        name = f"{Method.parse(subject).label}: the data over what the busiest card takes"
        report.claims.append(common.at_most(name, over, 1.1, "x"))
    panel = plots.Panel("2 to 4 processes, links of 1 Gb/s", "the application, s", times)
    report.pictures = [plots.Dots("Overlap", [panel], SUBJECTS)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
