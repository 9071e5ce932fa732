from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.observe import perfetto, report
from freestone.observe.report import timeline
from freestone.observe.report.series import load

S = 10**9


def task(worker: int, start_s: float, seconds: float, **fields: Any) -> dict[str, Any]:
    start = round((100 + start_s) * S)
    about = {"label": "mass", "name": "ab", "attempt": 1, "nbytes": 10, "ended": "done"}
    times = {"ready_ns": start, "sent_ns": start, "start_ns": start}
    times |= {"duration_ns": round(seconds * S)}
    return {"kind": "task", "worker": f"worker-{worker}", "task": 1} | about | times | fields


def joined(worker: int, at_s: float = 0, slots: int = 1) -> dict[str, Any]:
    at_ns = round((100 + at_s) * S)
    return {"kind": "joined", "worker": f"worker-{worker}", "at_ns": at_ns, "slots": slots}


def left(worker: int, at_s: float) -> dict[str, Any]:
    return {"kind": "left", "worker": f"worker-{worker}", "at_ns": round((100 + at_s) * S)}


def moved(source: int, target: int, end_s: float, seconds: float, nbytes: int) -> dict[str, Any]:
    return {
        "kind": "transfer",
        "name": "ab",
        "source": f"worker-{source}",
        "target": f"worker-{target}",
        "nbytes": nbytes,
        "end_ns": round((100 + end_s) * S),
        "duration_ns": round(seconds * S),
    }


def cache(worker: int, at_s: float, memory: int, disk: int = 0) -> dict[str, Any]:
    at_ns = round((100 + at_s) * S)
    figures = {"memory_nbytes": memory, "disk_nbytes": disk}
    return {"kind": "cache", "worker": f"worker-{worker}", "at_ns": at_ns} | figures


def test_all_of_the_time_is_accounted_for() -> None:
    records = [joined(0), joined(1), task(0, 0, 10), task(1, 0, 4), left(1, 8)]
    run = load(records)
    assert run.seconds == 10
    assert run.share.computing == pytest.approx(14, abs=0.1)
    assert run.share.nothing == pytest.approx(4, abs=0.1)
    assert run.share.data == run.share.manager == 0
    assert run.share.total == pytest.approx(18, abs=0.1)
    assert np.mean(run.running) == pytest.approx(1.4)


def test_how_long_tasks_waited_is_reported() -> None:
    waited = {"ready_ns": 101 * S, "sent_ns": 104 * S}
    run = load([joined(0), task(0, 0, 4), task(0, 5, 1, **waited)])
    assert (run.for_worker_s, run.at_worker_s) == pytest.approx((1.5, 0.5))
    assert "waited 1.5 s for a worker on average, and 500 ms there" in " ".join(report.summary(run))


def test_waiting_is_distinguished_by_what_it_was_for() -> None:
    begin = 100 * S
    with_data = task(0, 4, 6, ready_ns=begin, sent_ns=begin)
    without = task(1, 4, 6, ready_ns=begin, sent_ns=begin)
    run = load([joined(0), joined(1), with_data, without, moved(1, 0, 4, 4, 99)])
    assert run.share.data == pytest.approx(4, abs=0.1)
    assert run.share.executor == pytest.approx(4, abs=0.1)
    assert run.share.manager == 0
    late = task(0, 4, 6, ready_ns=begin, sent_ns=begin + 4 * S)
    assert load([joined(0), late]).share.manager == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize(("calls", "tried"), [(2000, "let each do more"), (20, "import less")])
def test_short_calls_are_not_taken_for_the_start_of_executors(calls: int, tried: str) -> None:
    begin = {"ready_ns": 100 * S, "sent_ns": 100 * S}
    short = [task(0, n * 5e-4, 1e-5, **begin) for n in range(calls)]
    assert tried in " ".join(report.advice(load([joined(0), *short])))


def test_what_executors_do_between_calls_is_distinguished() -> None:
    passing = {"opening_ns": S, "storing_ns": 2 * S, "ready_ns": 100 * S, "sent_ns": 100 * S}
    run = load([joined(0), task(0, 2, 4, **passing), task(0, 8, 2, label="sum", opening_ns=0)])
    assert run.share.computing == pytest.approx(6, abs=0.1)
    assert run.share.values == pytest.approx(3, abs=0.1)
    assert run.share.executor == pytest.approx(1, abs=0.1)
    assert run.share.total == pytest.approx(10, abs=0.1)
    assert run.values_s == {"mass": 3, "sum": 0}
    assert "30% opening and storing values" in " ".join(report.summary(run))
    assert "stored outputs, longest for mass (3 s)" in " ".join(report.advice(run))


def test_what_is_stored_last_is_part_of_the_run() -> None:
    assert load([joined(0), task(0, 0, 4, storing_ns=2 * S)]).seconds == 6


def test_what_is_reported_fits_the_run() -> None:
    long_tail = [joined(0, slots=3), *(task(0, n, 1) for n in range(8)), task(0, 2, 18)]
    reported = " ".join(report.advice(load(long_tail)))
    assert "nothing to run" in reported
    assert "The longest task, mass, took 18 s" in reported
    full = [joined(0), task(0, 0, 10), cache(0, 5, 10, disk=5 << 20)]
    assert "moved blocks to disk, up to 5 MiB" in " ".join(report.advice(load(full)))
    assert "Nothing stands out" in " ".join(report.advice(load([joined(0), task(0, 0, 10)])))
    raised = [joined(0), task(0, 0, 10), task(0, 0, 1, ended="raised")]
    assert "Attempts that did not end well: 1 raised" in " ".join(report.summary(load(raised)))


def test_a_page_has_all_figures_and_needs_nothing_else() -> None:
    records = [
        joined(0, slots=2),
        joined(1),
        *(task(n % 2, n, 1.5, label=f"<f{n % 11}>") for n in range(30)),
        moved(0, 1, 3, 1, 5 << 20),
        *(cache(n % 2, n, n << 20) for n in range(10)),
        left(1, 20),
    ]
    page = report.page(load(records), "a <run>")
    for figure in ("tasks", "workers", "transfers", "caches", "durations"):
        (section,) = re.findall(rf'<section id="{figure}">(.*?)</section>', page, re.DOTALL)
        assert "<svg" in section, figure
    peaks = re.findall(r'<th scope="row">(all workers|worker-.)</th><td>(.*?)</td>', page)
    assert ("all workers", "17 MiB") in peaks, "the last of worker-0 counts with that of worker-1"
    assert peaks[-3:] == [("all workers", "17 MiB"), ("worker-1", "9 MiB"), ("worker-0", "8 MiB")]
    assert "a &lt;run&gt;" in page
    assert "<f1>" not in page
    # It loads nothing; its scripts are its own, and what they draw.
    assert re.findall(r"<script[^>]*>", page) == [
        '<script type="application/json" id="attempts">',
        '<script type="module">',
    ]
    drawn = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=|https?://", drawn)
    assert not re.search(r"\b(import|export)\b.* from |https?://", page)
    assert not re.search(r"\bnan\b", drawn.lower())


def test_of_very_many_attempts_a_page_has_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_ATTEMPTS", 2)
    records = [task(0, n, seconds) for n, seconds in enumerate((0.1, 0.9, 0.2, 0.8))]
    page = report.page(load(records), "many")
    assert "2 shorter attempts are left out" in page
    (found,) = re.findall(r'id="attempts">(.*?)</script>', page)
    kind, packed = json.loads(found)["columns"]["took"]
    took = np.frombuffer(zlib.decompress(base64.b64decode(packed)), kind)
    assert took.tolist() == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize("records", [[], [joined(0)], [task(0, 0, 1)], [moved(0, 1, 1, 1, 0)]])
def test_traces_with_little_in_them_have_pages(records: list[dict[str, Any]]) -> None:
    assert "</html>" in report.page(load(records), "little")


def test_perfetto_gives_calls_that_run_at_once_different_threads(tmp_path: Path) -> None:
    records = [joined(0, slots=2), task(0, 0, 2), task(0, 1, 2), task(0, 2, 1), left(0, 4)]
    records += [moved(1, 0, 1, 1, 7), cache(0, 2, 5)]
    count = perfetto.write(tmp_path / "run.json", records)
    found = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert len(found) == count == 7
    tasks = [event for event in found if event.get("cat") == "task"]
    assert [(event["tid"], event["dur"]) for event in tasks] == [(1, 2e6), (2, 2e6), (1, 1e6)]
    assert {event["ph"] for event in found} == {"M", "X", "C", "i"}
