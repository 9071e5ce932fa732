"""Measure what a trace costs: the same calls with and without one, to its last byte on disk.

Records are made and written in the program's process, where the manager is; so what a trace costs
is the processor time that this process takes in addition, and unlike the time of the run it does
not depend on what else the machine does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.functions import linger

QUESTION = "What does a trace cost?"
EXECUTORS = 2
# Seconds of work in a call, and how many calls; quick ones are fewer.
CASES = {"0 ms": (0.0, 100_000), "1 ms": (0.001, 10_000), "10 ms": (0.01, 1_000)}
QUICK = 10
SUBJECTS = {"not traced": None, "traced, .parquet": ".parquet", "traced, .jsonl": ".jsonl"}


def work(seconds: float) -> None:
    """Compute for so many seconds of processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def calls(ending: str | None, share: int) -> dict[str, Any]:
    """Run each case in a cluster of its own, from the first call to the closed cluster.

    The seconds that this takes, and those of this process's processor time.
    """
    import freestone as fs

    seconds, cpu_s = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for case, (work_s, count) in CASES.items():
            trace = None if ending is None else f"{folder}/{case}{ending}"
            # Threads that look for work before they sleep would count as working.
            with fs.Cluster(workers=1, executors=EXECUTORS, trace=trace, spin_us=0) as cluster:
                warm = [cluster.submit(linger, 0.1, pure=False) for _ in range(2 * EXECUTORS)]
                cluster.gather(warm)
                start, cpu_start = time.perf_counter(), time.process_time()
                cluster.gather(cluster.map(work, [work_s] * (count // share), pure=False))
            seconds[case] = time.perf_counter() - start
            cpu_s[case] = time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_s": cpu_s}


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted: what a record costs, by the time of calls that do something.

    It shows best where there are most records, in calls that do nothing.
    """
    traced = report.median("traced, .parquet", "0 ms, program")
    plain = report.median("not traced", "0 ms, program")
    cost_us = None if traced is None or plain is None else traced - plain
    found = []
    for case in ("1 ms", "10 ms"):
        share = common.ratio(cost_us, CASES[case][0] * 1e6 / EXECUTORS)
        percent = None if share is None else 100 * share
        found.append(common.at_most(f"a trace of calls of {case}", percent, 2, "% of the time"))
    return found


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("tracing", QUESTION, list(SUBJECTS))
    before = common.machine()
    share = QUICK if options.quick else 1
    settings = {case: {"work_s": w, "calls": n // share} for case, (w, n) in CASES.items()}
    report = common.Report(QUESTION, {**settings, "executors": EXECUTORS})
    asked = options.only or tuple(SUBJECTS)

    def measure(subject: str) -> None:
        found = turns.take("benchmarks.tracing:calls", ending=SUBJECTS[subject], share=share)
        if "absent" in found:
            report.absent[subject] = found["absent"]
            return
        for case, seconds in found["seconds"].items():
            per_call_us = seconds / (CASES[case][1] // share) * 1e6
            report.add(subject, case, per_call_us, "µs/call")
            cpu_us = found["cpu_s"][case] / (CASES[case][1] // share) * 1e6
            report.add(subject, f"{case}, program", cpu_us, "µs/call")

    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report)
    common.write(report, options, before)
    panels = [plots.Panel(f"calls of {case}", "µs per call", report.series(case)) for case in CASES]
    plots.dots(panels, options.json.with_suffix(".png"), QUESTION, list(SUBJECTS))


if __name__ == "__main__":
    main()
