"""Measure what the journal of a served cluster costs, and how soon the cluster is back by it.

No-op calls by `map` and by `submit` through `freestone serve` with a journal and without one; and,
with calls that wait in it, the time from the start of the next process after kill -9 until the
program that was connected has an answer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import freestone as fs
from benchmarks import common, plots

QUESTION = "What does it cost that a served cluster outlives its process?"
WITH, WITHOUT = SUBJECTS = ["with a journal", "without"]
MAPPED, SUBMITTED = 100_000, 20_000
KNOWN, KNOWN_QUICK = 1_000_000, 100_000
NAME = "benchmark"


def nothing(number: int) -> int:
    """Return what it gets."""
    return number


def wait(path: str) -> None:
    """Keep an executor until there is a file."""
    while not os.path.exists(path):
        time.sleep(0.01)


def freestone(folder: str, *words: str) -> str:
    """Run a command of freestone's; what it prints."""
    environment = os.environ | {"FREESTONE_FOLDER": folder}
    command = [sys.executable, "-m", "freestone", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def serve(folder: str, *words: str) -> int:
    """Serve a cluster in the background; its process."""
    options = ("--name", NAME, "--executors", "1", "--background", "--json")
    return int(json.loads(freestone(folder, "serve", *options, *words))["pid"])


@contextmanager
def served(*words: str) -> Iterator[tuple[str, int]]:
    """Serve a cluster for as long as the block lasts; its folder and process."""
    with TemporaryDirectory() as folder:
        process = serve(folder, *words)
        try:
            yield folder, process
        finally:
            freestone(folder, "stop", NAME)


def calls(report: common.Report, subject: str) -> None:
    """Measure the rates of calls."""
    words = [] if subject == WITH else ["--no-journal"]
    with served(*words) as (folder, _), fs.connect(NAME, folder=folder) as cluster:
        cluster.gather(cluster.map(nothing, range(-1000, 0)))
        begin = time.perf_counter()
        cluster.gather(cluster.map(nothing, range(MAPPED)))
        report.add(subject, "map", MAPPED / (time.perf_counter() - begin), "calls/s")
        begin = time.perf_counter()
        futures = [cluster.submit(nothing, MAPPED + number) for number in range(SUBMITTED)]
        cluster.gather(futures)
        report.add(subject, "submit", SUBMITTED / (time.perf_counter() - begin), "calls/s")


def restart(report: common.Report, known: int) -> None:
    """Measure how long a program waits for the next process."""
    with served() as (folder, process):
        gate = Path(folder) / "gate"
        with fs.connect(NAME, folder=folder, reconnect_s=600) as cluster:
            holds = cluster.submit(wait, str(gate))
            futures = cluster.map(nothing, range(known))
            before = cluster.statistics()
            os.kill(process, signal.SIGKILL)
            begin = time.perf_counter()
            serve(folder)
            after = cluster.statistics()
            report.add(WITH, "restart", time.perf_counter() - begin, "s", tasks=before.tasks)
            if after.tasks != before.tasks:
                problem = f"{before.tasks} tasks before the restart, {after.tasks} after it"
                report.notes.append(problem)
            holds.cancel()
            cluster.cancel(futures)


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("journal", QUESTION)
    known = KNOWN_QUICK if options.quick else KNOWN
    before = common.machine()
    report = common.Report(QUESTION, {"known": known})
    common.interleave(options.rounds, SUBJECTS, lambda subject: calls(report, subject))
    restart(report, known)
    kept = {
        case: common.ratio(report.median(WITH, case), report.median(WITHOUT, case))
        for case in ("map", "submit")
    }
    report.claims = [
        common.at_least("submits with a journal, of those without", kept["submit"], 0.9, "x"),
        common.at_least("calls by map with a journal, of those without", kept["map"], 0.9, "x"),
        common.at_most(f"back with {known:,} tasks", report.median(WITH, "restart"), 10, "s"),
    ]
    panels = [
        plots.Panel("No-op calls by map", "calls per second", report.series("map")),
        plots.Panel("No-op calls by submit", "calls per second", report.series("submit")),
    ]
    report.pictures = [plots.Dots(QUESTION, panels, SUBJECTS)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
