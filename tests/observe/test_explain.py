from __future__ import annotations

import time
from typing import Any

import pytest

from freestone.observe.explain import Attempt, Explanation, Pause

STAGES = [
    *("unknown", "waiting", "ready", "assigned", "done", "failed", "cancelled", "released"),
    "block",
]
SECOND = 10**9


def tell(stage: str, **fields: Any) -> str:
    return str(Explanation(stage=stage, label="mass", **fields))


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_reported_with_what_little_there_is(stage: str) -> None:
    assert len(tell(stage)) > 20
    assert "None" not in str(Explanation(stage=stage))


def test_what_it_waits_for() -> None:
    names = tuple(f"{k:032x}"[::-1] for k in range(5))
    assert tell("waiting", waits_for=names).startswith("'mass' waits for 5 inputs: 00000000; ")
    assert tell("waiting", waits_for=names).endswith("and 2 more")
    assert tell("waiting", waits_for=names[:1]) == "'mass' waits for 1 input: 00000000"


def test_which_room_it_waits_for() -> None:
    needs = {"cores": 2, "gpus": 0, "memory": 2**30}
    text = tell("ready", resources=needs, ahead=3)
    assert text == (
        "'mass' is ready and waits for a worker with 2 cores, 1 GiB of memory free, behind 3 tasks"
    )
    assert "with a free executor" in tell("ready", resources={})
    assert "with 1 core free" in tell("ready", resources={"cores": 1})


def test_where_and_when_each_attempt_ran() -> None:
    attempts = (
        Attempt(
            worker="worker-0",
            sent_ns=5 * SECOND,
            start_ns=6 * SECOND,
            duration_ns=SECOND // 2,
            ended="killed",
        ),
        Attempt(
            worker="worker-1",
            sent_ns=7 * SECOND,
            start_ns=7 * SECOND,
            duration_ns=2 * SECOND,
            ended="done",
        ),
    )
    text = tell("done", attempts=attempts, replicas=("worker-1",), nbytes=2048)
    assert text.splitlines() == [
        "'mass' is done",
        "  attempt 1 on worker-0, waited 1 s, ran 500 ms: killed",
        "  attempt 2 on worker-1, sent 2 s after the first, ran 2 s: done",
        "  output: 2 KiB on worker-1",
    ]


def test_of_many_attempts_the_last_are_reported() -> None:
    attempts = tuple(
        Attempt(worker=f"worker-{k}", sent_ns=k * SECOND, duration_ns=SECOND, ended="raised")
        for k in (5, 6)
    )
    assert tell("failed", attempts=attempts, attempted=7).splitlines() == [
        "'mass' failed after 7 attempts",
        "  attempt 6 on worker-5, ran 1 s: raised",
        "  attempt 7 on worker-6, sent 1 s after attempt 6, ran 1 s: raised",
    ]
    assert tell("failed") == "'mass' failed before it was tried"


def test_why_it_failed_and_what_was_not_called_for_that() -> None:
    failed = Explanation(stage="failed", label="mass", call="mass(1)", attempted=1)
    own = failed.with_error(ValueError("no mass\nmore"))
    assert str(own) == "mass(1) failed after 1 attempt: ValueError: no mass"
    other = failed.with_error(ValueError(), "total")
    assert str(other) == (
        "total was not called, because an input is missing: "
        "'mass' failed after 1 attempt: ValueError"
    )
    assert tell("cancelled") == "'mass' was cancelled, or a task whose output it takes"


def test_what_runs_and_what_has_not_begun() -> None:
    begun = Attempt(worker="worker-0", sent_ns=1, start_ns=2)
    held = Attempt(worker="worker-0", sent_ns=1)
    assert "is at worker-0 and runs" in tell("assigned", attempts=(begun,))
    text = tell("assigned", attempts=(held,), ahead=1)
    assert "waits there behind 1 task" in text
    assert "not begun" in text
    pause = Pause(what="an item of the queue 'work'", since_s=3.1)
    text = tell("assigned", attempts=(begun,), pause=pause)
    assert "is at worker-0 and has waited for an item of the queue 'work' for 3.1 s" in text


def test_what_a_retained_block_answered() -> None:
    text = tell("done", nbytes=8)
    assert text.splitlines() == [
        "'mass' is done: a retained block answered it",
        "  output: 8 bytes, held by the manager",
    ]


def test_what_makes_its_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"name": "0" * 32, "label": "mass", "stage": "assigned", "worker": "worker-2"}
    now_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns)
    since_ns = now_ns - 3_100_000_000
    pause = ("the lock 'disk'", since_ns)
    figures = [
        {**at, "since_ns": since_ns, "running": True},
        {**at, "name": "1" * 32, "since_ns": since_ns},
        {**at, "name": "2" * 32, "since_ns": since_ns, "running": True, "pause": pause},
        {"name": "3" * 32, "label": "fit", "stage": "ready", "since_ns": since_ns},
        {"name": "4" * 32, "label": "", "stage": "waiting", "since_ns": 0, "missing": 2},
    ]
    names = tuple(str(figure["name"]) for figure in figures)
    explanation = Explanation.from_dict(
        {"stage": "waiting", "label": "sum", "waits_for": names, "awaited": figures}
    )
    runs, held, paused, ready, waits = map(str, explanation.awaited)
    assert explanation.awaited[0].since_s == 3.1
    assert runs.startswith("mass (00000000), which has been running on worker-2 for 3.")
    assert held.startswith("mass (11111111), which has been waiting at worker-2 for 3.")
    wanted = "mass (22222222), which runs on worker-2 and has waited for the lock 'disk' for 3."
    assert paused.startswith(wanted)
    assert ready.startswith("fit (33333333), which has been ready for 3.")
    assert waits == "44444444, which waits for 2 inputs"
    assert str(explanation).startswith(f"'sum' waits for 5 inputs: {runs}; {held}; {paused} and")


def test_where_no_worker_runs_calls_it_says_so() -> None:
    wanted = "'mass' is ready and waits for a worker to join: there is none that runs calls"
    assert tell("ready", slots=0, ahead=3) == wanted
    assert "to join" not in tell("ready", slots=1)
