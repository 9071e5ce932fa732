"""Measure what hoisting imports saves: calls that import numpy and do little.

15,000 calls, with the import hoisted or not, in a resident executor (`shared`), in a child of
it per call (`fork`) and in a new interpreter per call (`process`); each with more and more work
of its own, as in figure 10 of the TaskVine paper. Kinds that would need minutes run as many
calls as fit in some seconds; `count` tells how many.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.hoisting import EXECUTORS

QUESTION = "What does hoisting imports save, for calls that import numpy and do little?"
COUNT = 15_000
WORKS_S = {True: [0.0, 0.01], False: [0.0, 0.001, 0.01, 0.1]}
BUDGET_S = {True: 0.8, False: 2.0}
KINDS = ("shared", "fork", "process")
SUBJECTS = {
    f"{kind}, {'hoisted' if hoist else 'not hoisted'}": (kind, hoist)
    for kind in KINDS
    for hoist in (True, False)
}
PYTHON = "python itself"


def turn(subject: str, quick: bool) -> dict[str, Any]:
    """Take one subject's turn."""
    if subject == PYTHON:
        return turns.take("benchmarks.hoisting:python", repeats=5 if quick else 20)
    isolation, hoist = SUBJECTS[subject]
    return turns.take(
        "benchmarks.hoisting:freestone",
        isolation=isolation,
        hoist=hoist,
        works_s=WORKS_S[quick],
        count=COUNT,
        budget_s=BUDGET_S[quick],
    )


def record(report: common.Report, subject: str, found: dict[str, Any]) -> None:
    """Add one turn's samples: milliseconds of the run per call."""
    if "absent" in found:
        report.absent[subject] = found["absent"]
        return
    for case, sample in found["cases"].items():
        per_call_ms = sample["seconds"] / sample["count"] * 1e3
        report.add(subject, case, per_call_ms, "ms/call", count=sample["count"])


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted; a call of one of two executors takes two calls' share."""
    hoisted = report.median("fork, hoisted", "0 ms")
    not_hoisted = report.median("fork, not hoisted", "0 ms")
    in_executor = None if hoisted is None else hoisted * EXECUTORS
    fork = report.median(PYTHON, "fork")
    return [
        common.at_most("a forked call over a bare fork", common.ratio(in_executor, fork), 2, "x"),
        common.at_least("hoisting in fork", common.ratio(not_hoisted, hoisted), 10, "x"),
    ]


def picture(report: common.Report, works_s: list[float]) -> plots.Picture:
    """Return the seconds of 15,000 calls over the work of a call, a chart per isolation."""
    charts = {}
    for kind in KINDS:
        drawn = []
        for subject, (isolation, hoist) in SUBJECTS.items():
            if isolation == kind and subject in report.figures:
                seconds = [
                    float(report.figures[subject][f"{work_s * 1e3:g} ms"]["median"]) * COUNT / 1e3
                    for work_s in works_s
                ]
                label = "hoisted" if hoist else "not hoisted"
                drawn.append(plots.Line(label, [w * 1e3 for w in works_s], seconds, not hoist))
        charts[kind] = drawn
    title = "15,000 calls that import numpy, two executors"
    return plots.Lines(title, charts, ("work of a call (ms)", "the run (s)"))


def main() -> None:
    """Measure, report and draw."""
    subjects = [*SUBJECTS, PYTHON]
    options = common.parse("imports", QUESTION, subjects)
    before = common.machine()
    works_s, budget_s = WORKS_S[options.quick], BUDGET_S[options.quick]
    settings = {
        "wanted_count": COUNT,
        "works_s": works_s,
        "budget_s": budget_s,
        "executors": EXECUTORS,
    }
    report = common.Report(QUESTION, settings)
    asked = options.only or tuple(subjects)
    report.absent = {name: "not asked for" for name in subjects if name not in asked}

    def measure(subject: str) -> None:
        if subject not in report.absent:
            record(report, subject, turn(subject, options.quick))

    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.notes.append("the picture scales runs of fewer calls to 15,000")
    report.claims = claims(report)
    report.pictures = [picture(report, works_s)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
