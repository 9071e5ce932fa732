"""Measure what it costs to see a run: the same calls with a trace, a page or a report, and without.

Records are made, written and shown in the program's process, where the manager is; so what that
costs is the processor time that this process takes in addition, and unlike the time of the run it
does not depend on what else the machine does.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.functions import linger

QUESTION = "What does it cost to trace a run, to watch its page, to report on it, to profile it?"
# At most so many percent of a run's time.
WANTED = 2.0
UNIT = "% of the time"
EXECUTORS = 2
# Seconds of work in a call, how many calls, and how many when it has to be quick: a page asks once
# a second, so that a run lasts some seconds.
CASES = {"0 ms": (0.0, 100_000), "1 ms": (0.001, 10_000), "10 ms": (0.01, 1_000)}
QUICK = {"0 ms": 10_000, "1 ms": 4_000, "10 ms": 400}
PLAIN = "not traced"
NO_PAGE = "dashboard=False"
PROFILED = "profile=True"
SPANS = "spans=True"
# Calls that need two blocks, whose names are in the trace.
INPUTS = "two inputs, not traced"
INPUTS_TRACED = "two inputs, traced, .parquet"
# The ending of a trace's name, or what else is done.
SUBJECTS = {
    PLAIN: None,
    NO_PAGE: "no page",
    "traced, .parquet": ".parquet",
    "traced, .jsonl": ".jsonl",
    "page open": "page",
    "performance_report": "report",
    PROFILED: "profile",
    SPANS: "spans",
    INPUTS: "inputs",
    INPUTS_TRACED: "inputs.parquet",
}
# What each is compared with, if it is another than not traced.
COMPARED = {INPUTS_TRACED: INPUTS}
# What a browser with the timeline open asks each second.
WATCHER = """
import sys, time
from freestone.observe.dashboard.reader import PageReader

page = PageReader(sys.argv[1])
while True:
    for question in ("summary", "timeline?width=1000"):
        page.ask(question)
    print("shown", flush=True)
    time.sleep(1)
"""


def work(seconds: float, *needed: int) -> None:
    """Compute for so many seconds of processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def used(seconds: float) -> tuple[int, float]:
    """Wait, and return which process this is and its processor time so far."""
    linger(seconds)
    return os.getpid(), time.process_time()


def executors_cpu_s(cluster: Any) -> float:
    """Return the processor time of all executors so far."""
    found: dict[int, float] = {}
    while len(found) < EXECUTORS:
        asked = [cluster.submit(used, 0.1, pure=False) for _ in range(2 * EXECUTORS)]
        found.update(cluster.gather(asked))
    return sum(found.values())


@contextlib.contextmanager
def watched(link: str | None) -> Iterator[None]:
    """Have another process watch a page."""
    command = [sys.executable, "-c", WATCHER, str(link)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as watcher:
        try:
            assert watcher.stdout is not None
            # From here on the page has been open.
            watcher.stdout.readline()
            yield
        finally:
            watcher.kill()


def keep_spans() -> None:
    """Have spans made and handed over, to this process's memory."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(provider)


def submit_all(cluster: Any, how: str | None, work_s: float, count: int) -> None:
    """Call `work`, with two inputs if that is asked for, and wait."""
    needed = []
    if how is not None and how.startswith("inputs"):
        needed = [[future] * count for future in cluster.map(abs, range(2))]
    cluster.gather(cluster.map(work, [work_s] * count, *needed, pure=False))


def count_of(case: str, quick: bool) -> int:
    """Return how many calls a case has."""
    return QUICK[case] if quick else CASES[case][1]


def calls(how: str | None, quick: bool) -> dict[str, Any]:
    """Run each case in a cluster of its own, from the first call to the closed cluster.

    The seconds that this takes, those of this process's processor time, and of its executors'.
    """
    import freestone as fs

    seconds, cpu_s, executors_s = {}, {}, {}
    if how == "spans":
        keep_spans()
    with tempfile.TemporaryDirectory() as folder:
        for case, (work_s, _) in CASES.items():
            ending = (how or "").partition(".")[2]
            trace = f"{folder}/{case}.{ending}" if ending else None
            # Threads that look for work before they sleep would count as working.
            options: dict[str, Any] = {"trace": trace, "profile": how == "profile"}
            options |= {"spans": how == "spans", "dashboard": how != "no page"}
            with fs.Cluster(workers=1, executors=EXECUTORS, spin_us=0, **options) as cluster:
                before_s = executors_cpu_s(cluster)
                with contextlib.ExitStack() as stack:
                    if how == "page":
                        stack.enter_context(watched(cluster.dashboard_link))
                    start, cpu_start = time.perf_counter(), time.process_time()
                    if how == "report":
                        stack.enter_context(fs.performance_report(f"{folder}/{case}.html"))
                    submit_all(cluster, how, work_s, count_of(case, quick))
                asked, cpu_asked = time.perf_counter(), time.process_time()
                executors_s[case] = executors_cpu_s(cluster) - before_s
                start += time.perf_counter() - asked
                cpu_start += time.process_time() - cpu_asked
            seconds[case] = time.perf_counter() - start
            cpu_s[case] = time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_s": cpu_s, "executors_s": executors_s}


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted: what a call costs more, by the time of calls that do something.

    For traces that shows best where there are most records, in calls that do nothing; a page and a
    profile cost by the second, and are compared in calls of the same duration. A profile costs the
    executors' time, too.
    """
    found = []
    for subject in [one for one in SUBJECTS if one not in (PLAIN, NO_PAGE, INPUTS)]:
        for case in ("1 ms", "10 ms"):
            measured = case if subject in ("page open", PROFILED) else "0 ms"
            cost_us = added(report, subject, f"{measured}, program")
            share = percent(cost_us, CASES[case][0] * 1e6 / EXECUTORS)
            found.append(common.at_most(f"{subject}, calls of {case}", share, WANTED, UNIT))
    cost_us = added(report, PROFILED, "10 ms, executors")
    share = percent(cost_us, CASES["10 ms"][0] * 1e6)
    found.append(common.at_most(f"{PROFILED}, executors, calls of 10 ms", share, WANTED, UNIT))
    # A page that nobody opens costs nothing: what is measured is as near to that as noise allows.
    without_us = added(report, NO_PAGE, "0 ms, program")
    share = percent(None if without_us is None else -without_us, CASES["1 ms"][0] * 1e6 / EXECUTORS)
    found.append(common.at_most("page not open, calls of 1 ms", share, 0.5, UNIT))
    return found


def percent(cost_us: float | None, of_us: float) -> float | None:
    """Return a share in percent, if the cost is known."""
    share = common.ratio(cost_us, of_us)
    return None if share is None else 100 * share


def added(report: common.Report, subject: str, case: str) -> float | None:
    """Return what a call takes more than when nothing is seen of it, in microseconds."""
    seen = report.median(subject, case)
    plain = report.median(COMPARED.get(subject, PLAIN), case)
    return None if seen is None or plain is None else seen - plain


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("tracing", QUESTION, list(SUBJECTS))
    before = common.machine()
    counts = {case: count_of(case, options.quick) for case in CASES}
    settings = {case: {"work_s": w, "calls": counts[case]} for case, (w, _) in CASES.items()}
    report = common.Report(QUESTION, {**settings, "executors": EXECUTORS})
    asked = options.only or tuple(SUBJECTS)

    def measure(subject: str) -> None:
        found = turns.take("benchmarks.tracing:calls", how=SUBJECTS[subject], quick=options.quick)
        if "absent" in found:
            report.absent[subject] = found["absent"]
            return
        for case, seconds in found["seconds"].items():
            per_call_us = seconds / counts[case] * 1e6
            report.add(subject, case, per_call_us, "µs/call")
            cpu_us = found["cpu_s"][case] / counts[case] * 1e6
            report.add(subject, f"{case}, program", cpu_us, "µs/call")
            executors_us = found["executors_s"][case] / counts[case] * 1e6
            report.add(subject, f"{case}, executors", executors_us, "µs/call")

    report.go_on(options)
    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report)
    panels = [plots.Panel(f"calls of {case}", "µs per call", report.series(case)) for case in CASES]
    report.pictures = [plots.Dots(QUESTION, panels, list(SUBJECTS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
