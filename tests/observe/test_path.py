"""The critical path of a run, and what would have changed it."""

from __future__ import annotations

from typing import Any

import pytest

from freestone.cli import main
from freestone.observe import report, trace
from freestone.observe.report import path as critical
from freestone.observe.report.path import Path

S = 10**9


def task(name: str, at_s: float, running_s: float, inputs: str = "", **more: Any) -> dict[str, Any]:
    """A task that was ready, sent and begun at once."""
    at_ns = round((100 + at_s) * S)
    times = dict.fromkeys(("ready_ns", "sent_ns", "start_ns"), at_ns)
    about = {"kind": "task", "label": name[0], "name": name, "task": hash(name), "attempt": 1}
    about |= {"worker": "worker-0", "ended": "done", "nbytes": 1}
    inputs_ = {"inputs": inputs} if inputs else {}
    return about | times | {"duration_ns": round(running_s * S)} | inputs_ | more


def ready(at_s: float, sent_s: float | None = None) -> dict[str, int]:
    sent_s = at_s if sent_s is None else sent_s
    return {"ready_ns": round((100 + at_s) * S), "sent_ns": round((100 + sent_s) * S)}


def found(*tasks: dict[str, Any]) -> Path:
    path = critical.load(tasks)
    assert path is not None
    assert sum(path.parts().values()) == pytest.approx(path.seconds)
    return path


def names(path: Path) -> list[str]:
    return [step.name for step in path.steps]


def test_the_path_follows_the_input_that_was_made_last() -> None:
    path = found(
        task("a1", 0, 1),
        task("a2", 0, 3, worker="worker-1"),
        task("b1", 3, 2, "a1 a2 unknown"),
        task("c1", 5, 1, "b1"),
        task("d1", 3, 2.5, "a1", worker="worker-1"),
    )
    assert names(path) == ["a2", "b1", "c1"]
    assert path.seconds == 6
    assert path.functions() == {"a": 3, "b": 2, "c": 1}


def test_waits_on_the_path_are_distinguished() -> None:
    path = found(
        task("a1", 0, 1, storing_ns=S),
        task("b1", 8, 1, "a1", **ready(3, 4), opening_ns=2 * S),
    )
    (_, step) = path.steps
    waits = (step.submitting_s, step.queued_s, step.arriving_s, step.values_s, step.running_s)
    assert waits == (1, 1, 2, 2, 1)
    assert path.seconds == 9


def test_what_is_submitted_when_nothing_runs_follows_what_ended_last() -> None:
    first = [task("a1", 0, 1), task("a2", 0, 2, worker="worker-1")]
    second = [task("b1", 2.5, 1), task("b2", 2.6, 2, worker="worker-1")]
    path = found(*first, *second)
    assert names(path) == ["a2", "b2"]
    assert path.steps[1].submitting_s == pytest.approx(0.6)


def test_what_is_submitted_beside_others_follows_none_of_them() -> None:
    # The second was submitted while the first ran: it can't have waited for that.
    path = found(task("a1", 0, 1), task("b1", 0.5, 5, worker="worker-1"))
    assert names(path) == ["b1"]
    assert path.steps[0].submitting_s == 0.5


def test_an_attempt_follows_the_one_that_failed() -> None:
    failed = task("a1", 0, 1, ended="killed")
    path = found(failed, task("a1", 2, 1, attempt=2, **ready(1, 2)), task("b1", 3, 1, "a1"))
    assert [(step.name, step.at_s) for step in path.steps] == [("a1", 0), ("a1", 1), ("b1", 3)]


def test_each_output_of_a_task_leads_to_it() -> None:
    path = found(task("a1", 0, 1, outputs="a2 a3"), task("b1", 1, 1, "a3"), task("c1", 0, 1.5))
    assert names(path) == ["a1", "b1"]


def would(path: Path, label: str) -> tuple[float, float]:
    (one,) = (one for one in path.what_if if one.label == label)
    return one.half_s, one.double_s


def test_a_shorter_function_helps_until_another_path_is_the_longest() -> None:
    tasks = [task("a1", 0, 4), task("b1", 0, 3, worker="worker-1"), task("c1", 4, 1, "a1 b1")]
    path = found(*tasks)
    assert names(path) == ["a1", "c1"]
    assert would(path, "a") == (4, 9)
    assert would(path, "c") == (4.5, 6)
    assert path.free_s == 5


def test_executors_stay_busy_with_what_waited_for_them() -> None:
    # One executor, ten tasks that wait for nothing: each waits for the one before.
    path = found(*(task(f"a{n}", n, 1, **ready(0, n)) for n in range(10)))
    assert path.parts()["waiting for a worker"] == 9
    assert would(path, "a") == (5, 20)
    assert path.free_s == 1


def test_records_of_former_versions_and_odd_clocks_do_no_harm() -> None:
    old = task("a1", 1, 1)
    for key in ("ready_ns", "sent_ns"):
        old[key] = 0
    early = task("b1", 0.5, 1, "a1")
    path = critical.load([old, early])
    assert path is not None
    assert names(path)[-1] == "a1"
    assert critical.load([]) is None


def test_of_very_many_attempts_only_the_path_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critical, "MAX_REPLAYED", 1)
    path = found(task("a1", 0, 1), task("b1", 1, 1, "a1"))
    assert names(path) == ["a1", "b1"]
    assert (path.what_if, path.free_s) == ([], None)


def test_the_report_has_the_path() -> None:
    steps = [
        task(f"{'<a>b'[n % 2 * 3]}{n}", n, 1, f"{'<a>b'[(n - 1) % 2 * 3]}{n - 1}")
        for n in range(300)
    ]
    run = report.load(
        [{"kind": "joined", "worker": "worker-0", "at_ns": 100 * S, "slots": 1}, *steps]
    )
    page = report.page(run, "run")
    assert "The critical path has 300 tasks, which ran for 100% of its 5 min" in page
    assert "Left out in the middle: 200 steps." in page
    assert "225 s, 25% shorter" in page or "3 min 45 s, 25% shorter" in page
    assert '<th scope="row">&lt;</th>' in page


def write(path: Any, *records: dict[str, Any]) -> str:
    joined = {"kind": "joined", "worker": "worker-0", "at_ns": 100 * S, "slots": 1}
    trace.write(path, [joined, *records])
    return str(path)


def test_two_runs_are_compared(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    old = write(tmp_path / "old.jsonl", task("a1", 0, 4), task("b1", 4, 1, "a1"), task("c1", 5, 1))
    new = write(tmp_path / "new.jsonl", task("a1", 0, 2), task("b1", 2, 1, "a1"), task("<1", 3, 1))
    assert main(["report", new, "--compare", old]) == 0
    out = capsys.readouterr().out
    assert "It took 4 s, and old 6 s: -33%. Tasks of a ran 2 s shorter in all." in out
    page = (tmp_path / "new.html").read_text("utf-8")
    assert "<td>4 s → 2 s</td><td>-50%</td><td>4 s → 2 s</td>" in page
    assert "<td>0 → 1</td><td>- → 1 s</td><td>0 s → 1 s</td><td>new</td>" in page
    assert "<1" not in page


def test_what_cannot_be_compared_is_refused(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run.jsonl", task("a1", 0, 4))
    assert main(["report", run, "--compare", str(tmp_path / "none.jsonl")]) != 0
    assert "none.jsonl" in capsys.readouterr().err
    (tmp_path / "ranks.json").write_text('{"traceEvents": []}')
    assert main(["report", str(tmp_path / "ranks.json"), "--compare", run]) != 0
    assert "--compare is for traces of runs" in capsys.readouterr().err
    empty = write(tmp_path / "empty.jsonl")
    assert main(["report", run, "--compare", empty]) == 0
    assert "It can't be compared with empty: no task ran" in capsys.readouterr().out
