"""Measure how fast a model's fields are analysed while it runs.

`examples/insitu` on events, and written by hand: with a pool of threads and tagged messages, as in
MONC (a thread that polls and naps, ten threads, one of them at a time in the messages) and tuned
(no naps, two threads, as many items at once as there are). As many computational ranks as analytics
ranks; first as fast as they can, then with pauses, which leaves time to sleep.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import common, plots, turns

QUESTION = "How fast are a model's fields analysed while it runs?"
SUBJECTS = {"events": "events", "by hand, as in MONC": "monc", "by hand, tuned": "tuned"}
COUNTS = (1, 2, 4, 8, 16)
ITEMS = {True: 6_400, False: 12_800}
QUICK = ("1", "4", "paced")
PACED = {True: 4, False: 16}
PERIOD_S = 0.02
PACED_STEPS = 10
WANTED = 3


def measure(way: str, analytics: int, steps: int, period_s: float) -> dict[str, Any]:
    """Take a turn, in an interpreter of its own."""
    from examples.insitu import sequential
    from examples.insitu.main import carry_out
    from examples.insitu.settings import Settings

    settings = Settings(analytics=analytics, steps=steps, period_s=period_s)
    outcome = carry_out(settings, way)
    if not sequential.agree(outcome.results, settings):
        raise ValueError(f"{way}: not what a sequential computation has")
    median, late = np.percentile(outcome.latencies_s, [50, 99]).tolist()
    return {
        "rate": settings.items / outcome.seconds,
        "median_s": median,
        "late_s": late,
        "busy": outcome.cpu_s / outcome.seconds / analytics,
    }


def take(report: common.Report, subject: str, cases: Sequence[str], quick: bool) -> None:
    """Take a subject's turns: numbers of analytics ranks, and with pauses."""
    target, way = "benchmarks.insitu:measure", SUBJECTS[subject]
    for count in (int(case) for case in cases if case != "paced"):
        steps = ITEMS[quick] // count // 8
        found = turns.take(target, way=way, analytics=count, steps=steps, period_s=0)
        if "absent" in found:
            report.absent[f"{subject}, {count}"] = found["absent"]
            continue
        report.add(subject, f"rate at {count}", found["rate"], "items/s")
        report.add(subject, f"latency at {count}", found["median_s"] * 1e3, "ms")
    if "paced" not in cases:
        return
    count, steps = PACED[quick], PACED_STEPS
    found = turns.take(target, way=way, analytics=count, steps=steps, period_s=PERIOD_S)
    if "absent" in found:
        report.absent[f"{subject}, paced"] = found["absent"]
        return
    report.add(subject, "paced: latency", found["median_s"] * 1e3, "ms")
    report.add(subject, "paced: latency of 99 %", found["late_s"] * 1e3, "ms")
    report.add(subject, "paced: busy", found["busy"] * 100, "% of a core for each rank")


def claims(report: common.Report, cases: Sequence[str]) -> list[common.Claim]:
    """Compare with the better of the two that are written by hand."""

    def best(case: str) -> float | None:
        rates = [report.median(subject, case) for subject in list(SUBJECTS)[1:]]
        return max((rate for rate in rates if rate is not None), default=None)

    found = []
    for count in (int(case) for case in cases if case != "paced"):
        case = f"rate at {count}"
        value = common.ratio(report.median("events", case), best(case))
        wanted = WANTED if count == 16 else 1
        found.append(common.at_least(f"over the better by hand, {case}", value, wanted, "x"))
    if "paced" in cases:
        monc = report.median("by hand, as in MONC", "paced: busy")
        value = common.ratio(report.median("events", "paced: busy"), monc)
        found.append(common.at_most("processor time while waiting, over MONC's", value, 1, "x"))
    return found


def picture(report: common.Report) -> plots.Picture:
    """Return the rate against the number of analytics ranks."""

    def line(subject: str) -> plots.Line:
        values = [(count, report.median(subject, f"rate at {count}")) for count in COUNTS]
        known = [(count, value) for count, value in values if value is not None]
        return plots.Line(subject, [x for x, _ in known], [y for _, y in known])

    charts = {"items a second": [line(subject) for subject in SUBJECTS]}
    return plots.Lines(QUESTION, charts, ("analytics ranks", "items a second"))


def main() -> None:
    """Measure, report and draw."""
    every = (*map(str, COUNTS), "paced")
    options = common.parse("insitu", QUESTION, every)
    cases = options.only or (QUICK if options.quick else every)
    before = common.machine()
    settings = {"items": ITEMS[options.quick], "points": 64, "fields": 8, "period_s": PERIOD_S}
    report = common.Report(QUESTION, settings)

    def measure(subject: str) -> None:
        take(report, subject, cases, options.quick)

    common.interleave(options.rounds, SUBJECTS, measure)
    report.notes += [
        "an item is 64 numbers of a field and a step; every result is that of a sequential run",
        "latency: from sending the last item of a field and step to the result; a backlog, where"
        " ranks send as fast as they can",
        f"paced: {PACED[options.quick]} analytics ranks, an item of each every 20 ms",
    ]
    report.claims = claims(report, cases)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
