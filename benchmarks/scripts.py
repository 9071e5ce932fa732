"""Measure scripts on a cluster of two workers: what is sent, and the time beside local runs.

A script computes on a matrix in blocks, with a constant of some size, for as many rounds as it is
told. What stays in place is not sent again: more rounds may only send what is new in each.
"""

from __future__ import annotations

import io
import itertools
import sys
import time
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots
from freestone import Cluster
from freestone.lang.front.parse.source import Source
from freestone.lang.run.distributed.running import DistributedRun
from freestone.lang.script import compile_source, read_arguments, run_text
from freestone.lang.settings import Settings

QUESTION = "What do scripts on a cluster send, and how long do they take?"
SHAPES = {True: (4_000, 200), False: (100_000, 200)}
ROUNDS = (5, 20)
SUBJECTS = ("local", "two workers")
WARMING = "X = fill(1.0, 100000, 20); print(sum(t(X) @ X)); print(sum(X * 2.0));"
"""What loads all that others need."""
SCRIPTS = {
    "constant": "q = X @ C; p = t(X) @ q[, 0] / sum(q); C = C * 1.0;",
    "power iteration": "q = X @ p; p = (t(X) @ q) / sum(q);",
    "k-means step": (
        "D = X @ t(C[0:8, ]) * -2.0 + t(sum(C[0:8, ] * C[0:8, ], 0)); P = D <= aggMin(D, 0); "
        "C[0:8, ] = (t(P) @ X) / t(sum(P, 1));"
    ),
}


def script(body: str) -> str:
    """Return a script that repeats a body."""
    return (
        "X = rand($n, $m, 0.0, 1.0, 1.0, 1); C = rand($m, $m, 0.0, 1.0, 1.0, 2); "
        "p = fill(1.0, $m, 1); for (i in 1:$rounds) { " + body + " } print(sum(p)); print(sum(C));"
    )


def run(text: str, words: list[str], cluster: Cluster | None) -> tuple[float, int, str]:
    """Return seconds, bytes that were sent, and what was printed."""
    out = io.StringIO()
    if cluster is None:
        begin = time.perf_counter()
        run_text(text, words, Settings(vec=True), out)
        return time.perf_counter() - begin, 0, out.getvalue()
    settings = Settings(vec=True, distributed=True)
    before = cluster.statistics().transferred_nbytes
    begin = time.perf_counter()
    program = compile_source(Source(text, "script"), read_arguments(words), settings)
    DistributedRun(settings, cluster.client, out).program(program)
    seconds = time.perf_counter() - begin
    return seconds, cluster.statistics().transferred_nbytes - before, out.getvalue()


def measure(report: common.Report, quick: bool, subject: str) -> None:
    """Take a sample of each script and number of rounds."""
    rows, columns = SHAPES[quick]
    for name, rounds in itertools.product(SCRIPTS, ROUNDS):
        words = [f"n={rows}", f"m={columns}", f"rounds={rounds}"]
        text, case = script(SCRIPTS[name]), f"{name}, {rounds} rounds"
        if subject == "local":
            run(WARMING, [], None)
            seconds, _, reported = run(text, words, None)
            report.add(subject, case, seconds, "s", reported=reported)
            continue
        # A new one for each: what an earlier script sent may still be there.
        with Cluster(workers=2, executors=1, memory="2GiB") as cluster:
            run(WARMING, [], cluster)
            seconds, sent, reported = run(text, words, cluster)
        report.add(subject, case, seconds, "s", reported=reported)
        report.add(subject, f"{case}, sent", sent / 1e6, "MB")


def claims(report: common.Report, quick: bool) -> list[common.Claim]:
    """Compare what few and many rounds send, in matrices."""
    rows, columns = SHAPES[quick]
    matrix = rows * columns * 8 / 1e6
    found = []
    for name in SCRIPTS:
        few, many = (
            report.median(SUBJECTS[1], f"{name}, {rounds} rounds, sent") for rounds in ROUNDS
        )
        more = None if few is None or many is None else (many - few) / matrix
        title = f"{name}: what {ROUNDS[1] - ROUNDS[0]} more rounds send"
        found.append(common.at_most(title, more, 0.1, "matrices"))
    return found


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("scripts", QUESTION, SUBJECTS)
    before = common.machine()
    rows, columns = SHAPES[options.quick]
    report = common.Report(QUESTION, {"rows": rows, "columns": columns})
    common.interleave(
        options.rounds,
        options.only or SUBJECTS,
        lambda subject: measure(report, options.quick, subject),
    )
    report.claims = claims(report, options.quick)
    cases = [f"{name}, {rounds} rounds" for name in SCRIPTS for rounds in ROUNDS]
    panels = [plots.Panel(case, "s", report.series(case)) for case in cases]
    report.pictures = [plots.Dots(QUESTION, panels, list(SUBJECTS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
