"""Measure calls through a cluster that has a process of its own.

No-op calls by `map` and by `submit`, a chain of dependent calls, a tree of sums, calls of an actor,
elements of a stream, the latency of a single call and of one that a call submits and waits for, and
calls of three clients at the same time: through `freestone serve`, through a cluster of the program
itself, through `dask scheduler` and through Ray, two single-threaded workers each, started and warm
before the clock.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots
from benchmarks.calls import take_turns
from benchmarks.cases import SERVED

QUESTION = "What does it cost that the manager has a process of its own?"
OWN, EMBEDDED, PEER, RAY = SERVED


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""
    cases = ("map", "submit", "map_of_clients", "submit_of_clients")
    rates = {(s, case): report.median(s, case) for s in SERVED for case in cases}
    return [
        common.at_least("no-op calls by map", rates[OWN, "map"], 100_000, "calls/s"),
        common.at_least("no-op calls by submit", rates[OWN, "submit"], 20_000, "calls/s"),
        common.at_least(
            "calls by map over dask scheduler",
            common.ratio(rates[OWN, "map"], rates[PEER, "map"]),
            20,
            "x",
        ),
        common.at_least(
            "calls by map of three clients", rates[OWN, "map_of_clients"], 100_000, "calls/s"
        ),
        common.at_least(
            "calls by submit of three clients", rates[OWN, "submit_of_clients"], 20_000, "calls/s"
        ),
        common.at_most("a round trip", report.median(OWN, "round_trip"), 200, "us"),
        common.at_most("a call of a call", report.median(OWN, "nested"), 200, "us"),
    ]


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("service", QUESTION, list(SERVED))
    before = common.machine()
    report = take_turns(options, QUESTION, list(SERVED))
    report.claims = claims(report)
    panels = [
        plots.Panel("No-op calls by map", "calls per second", report.series("map")),
        plots.Panel("No-op calls by submit", "calls per second", report.series("submit")),
        plots.Panel("By map of three clients", "calls per second", report.series("map_of_clients")),
        plots.Panel("Calls of an actor", "calls per second", report.series("actor")),
        plots.Panel("Elements of a stream", "elements per second", report.series("stream")),
        plots.Panel("Round trip", "µs, lower is better", report.series("round_trip")),
        plots.Panel("Call of a call", "µs, lower is better", report.series("nested")),
    ]
    title = "Calls through a process of the manager's own"
    report.pictures = [plots.Dots(title, panels, list(SERVED))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
