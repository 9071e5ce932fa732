"""Runs of programs as ranks, as processes and as threads."""

import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone import events as ev
from freestone.errors import (
    BadEventError,
    ConfigurationError,
    EventsLeftWarning,
    EventTimeoutError,
    InTaskError,
    LockNotHeldError,
    RankLostError,
    RunStuckError,
)
from freestone.events import memory_files, payload
from tests.waiting import until

WAYS = pytest.mark.parametrize("threads", [True, False], ids=["threads", "processes"])


@ev.task
def total(a: ev.Event, b: ev.Event) -> None:
    ev.current().fire(0, "total", a.data + b.data)


def add(rank: ev.Rank) -> Any:
    if rank.id == 0:
        rank.fire(1, "event2", 33)
        return rank.wait([(1, "total")])[0].data
    rank.submit(total, on=[(0, "event2"), (ev.SELF, "event3")])
    rank.submit(lambda: rank.fire(ev.SELF, "event3", 100))
    return None


@WAYS
def test_the_example_of_the_paper(threads: bool) -> None:
    assert ev.run(add, ranks=2, threads=threads) == [133, None]


def exchange(rank: ev.Rank, values: list[Any]) -> list[Any]:
    rank.submit(lambda *events: None, on=[(ev.ALL, "barrier")])
    rank.fire(ev.ALL, "barrier")
    for value in values:
        rank.fire((rank.id + 1) % rank.size, "value", value)
    return [rank.wait([(ev.ANY, "value")])[0].data for _ in values]


VALUES: list[Any] = [
    None,
    7,
    -(2**70),
    2.5,
    True,
    False,
    np.array([True, False]),
    "words ä",
    b"bytes",
    {"a": [1, 2]},
    np.arange(6, dtype=np.int16).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 4)),
    np.array(5),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.random.default_rng(1).random((300, 1000)),
    {"array": np.arange(100_000)},
]


@WAYS
def test_values_arrive_as_they_were_fired(threads: bool) -> None:
    found = ev.run(exchange, ranks=3, args=(VALUES,), threads=threads)
    for values in found:
        assert len(values) == len(VALUES)
        for value, expected in zip(values, VALUES, strict=True):
            assert type(value) is type(expected)
            if isinstance(expected, np.ndarray):
                assert value.dtype == expected.dtype
            np.testing.assert_equal(value, expected)


def fire_scalars(rank: ev.Rank) -> list[Any]:
    scalars = [np.float32(0.5), np.float64(0.1), np.int32(-3), np.int64(7), np.bool_(True)]
    for scalar in [*scalars, np.complex64(1j), 2 + 1j, np.uint16(5)]:
        rank.fire(ev.SELF, "scalar", scalar)
    return [rank.wait([(ev.SELF, "scalar")])[0].data for _ in range(len(scalars) + 3)]


def test_scalars_of_numpy_are_numbers() -> None:
    (found,) = ev.run(fire_scalars, ranks=1, threads=True)
    # There is no such number in C's header as the last one.
    wanted = [0.5, 0.1, -3, 7, True, 1j, 2 + 1j, np.uint16(5)]
    assert [(type(one), one) for one in found] == [(type(one), one) for one in wanted]


def look_at_array(rank: ev.Rank) -> tuple[bool, bool, float]:
    rank.fire(1 - rank.id, "a", np.full((512, 512), 1.0 + rank.id))
    array = rank.wait([(ev.ANY, "a")])[0].data
    return array.flags.writeable, array.flags.owndata, float(array.sum())


@WAYS
def test_arrays_are_read_only_views(threads: bool) -> None:
    found = ev.run(look_at_array, ranks=2, threads=threads)
    assert found == [(False, False, 2.0 * 512**2), (False, False, 1.0 * 512**2)]


def semantics(rank: ev.Rank) -> list[Any]:
    seen: list[Any] = []
    rank.submit(lambda e: seen.append(e.data), on=[(ev.ANY, "e")], persistent=True)
    for value in range(3):
        rank.fire(ev.SELF, "e", value)
    rank.drain()
    rank.fire(ev.SELF, "g")
    rank.submit(lambda *es: seen.append(len(es)), on=[(ev.SELF, "g")], greedy=True)
    rank.drain()
    rank.submit(lambda: 5, then="done")
    seen.append(rank.wait([(ev.SELF, "done")])[0].data)
    rank.fire(ev.SELF, "p", 1, persistent=True)
    seen.append([event.data for event in rank.wait([(ev.SELF, "p"), (ev.SELF, "p")])])
    assert rank.retrieve_any([(ev.SELF, "q")]) == []
    shared: list[int] = []
    rank.fire(ev.SELF, "ref", shared, by_reference=True)
    assert rank.wait([(ev.SELF, "ref")])[0].data is shared
    rank.submit(lambda event: event, on=[(ev.SELF, "never")], name="placeholder")
    assert rank.is_submitted("placeholder")
    assert (rank.remove("placeholder"), rank.is_submitted("placeholder")) == (1, False)
    rank.after(0.001, "later")
    rank.every(0.001, "tick")
    rank.wait([(ev.SELF, "later"), (ev.SELF, "tick"), (ev.SELF, "tick")])
    assert rank.stop("tick") == 1
    with pytest.raises(EventTimeoutError, match="no 'never' from any rank"):
        rank.wait([(ev.ANY, "never")], timeout_s=0.001)
    rank.fire(ev.SELF, "came")
    rank.after(3600, "late")
    with pytest.raises(EventTimeoutError, match=rf"still no 'late' from rank {rank.id}; is it"):
        rank.wait([(ev.SELF, "came"), (ev.SELF, "late")], timeout_s=0.001)
    assert (rank.stop("late"), rank.stop("late")) == (1, 0)
    assert [event.id for event in rank.wait([(ev.SELF, "came")])] == ["came"]
    return seen


@WAYS
@pytest.mark.parametrize("progress", ["worker", "thread"])
def test_what_ranks_can_do(threads: bool, progress: str) -> None:
    found = ev.run(semantics, ranks=2, threads=threads, progress=progress)
    assert found == [[0, 1, 2, 1, 5, [1, 1]]] * 2


def locked(rank: ev.Rank) -> list[int]:
    inside: list[int] = []
    seen: list[int] = []

    def body() -> None:
        rank.lock("state")
        inside.append(1)
        seen.append(len(inside))
        rank.wait([(ev.SELF, "token")])
        assert rank.try_lock("state")
        inside.pop()
        rank.fire(ev.SELF, "token")

    for _ in range(20):
        rank.submit(body)
    rank.fire(ev.SELF, "token")
    rank.drain()
    return seen


def test_locks_are_let_go_while_a_task_waits() -> None:
    with pytest.raises(RunStuckError):
        # The last token stays unconsumed.
        ev.run(locked, ranks=1, threads=True, workers=3)


def bad(rank: ev.Rank) -> None:
    with pytest.raises(ValueError, match="no rank 2"):
        rank.fire(2, "e")
    with pytest.raises(ValueError, match="no rank -7"):
        rank.submit(total, on=[(-7, "e")])
    with pytest.raises(BadEventError, match="5000 bytes"):
        rank.fire(0, "x" * 5000)
    with pytest.raises(LockNotHeldError):
        rank.unlock("never taken")
    with pytest.raises(ValueError, match="only an event to SELF"):
        rank.fire(ev.ALL, "e", [], by_reference=True)

    def inside() -> None:
        with pytest.raises(InTaskError, match="drain was called inside of a task"):
            rank.drain()
        with pytest.raises(InTaskError, match="finish was called inside of a task"):
            rank._native.finish()

    rank.submit(inside)
    with pytest.raises(ValueError, match="no rank 2"):
        rank.fire([0, 2], "e")
    with pytest.raises(ValueError, match="no rank 5"):
        rank.wait([([0, 5], "e")])


@WAYS
def test_bad_input_gets_a_clear_error(threads: bool) -> None:
    ev.run(bad, ranks=2, threads=threads)


def test_an_unknown_type_of_payload_is_refused() -> None:
    with pytest.raises(BadEventError, match="'field' from rank 2 carries 3 bytes of type 77"):
        payload.decode(77, b"abc", "field", 2)


def grouped(rank: ev.Rank) -> list[int]:
    evens, odds = [0, 2], [3, 1]
    rank.fire(odds if rank.id in evens else evens, "from the others", 10 * rank.id)
    others = rank.wait([(evens if rank.id in odds else odds, "from the others")])
    return [event.data for event in others]


@WAYS
def test_groups_are_sources_and_targets(threads: bool) -> None:
    found = ev.run(grouped, ranks=4, threads=threads)
    assert found == [[30, 10], [0, 20], [30, 10], [0, 20]]


def changes(rank: ev.Rank) -> list[float]:
    large, small = np.zeros(300_000), np.zeros(3)
    for array in (large, small):
        for target in range(rank.size):
            rank.fire(target, "array", array)
        array += 1
    found = rank.wait([(ev.ALL, "array"), (ev.ALL, "array")])
    return [float(event.data.sum()) for event in found]


@WAYS
def test_what_is_fired_is_copied(threads: bool) -> None:
    assert ev.run(changes, ranks=2, threads=threads) == [[0.0] * 4] * 2


def task_fails(rank: ev.Rank) -> None:
    def fails() -> None:
        raise KeyError("no luck")

    if rank.id == 1:
        rank.submit(fails)
    rank.wait([(ev.ANY, "never")])


@WAYS
def test_a_task_that_raises_ends_the_run_with_its_error(threads: bool) -> None:
    with pytest.raises(KeyError, match="no luck") as caught:
        ev.run(task_fails, ranks=3, threads=threads)
    notes = "".join(caught.value.__notes__)
    assert "fails' on rank 1" in notes
    assert 'raise KeyError("no luck")' in notes


def main_fails(rank: ev.Rank) -> None:
    if rank.id == 1:
        raise ZeroDivisionError("of rank 1")


@WAYS
def test_a_program_that_raises_ends_the_run_with_its_error(threads: bool) -> None:
    with pytest.raises(ZeroDivisionError, match="of rank 1") as caught:
        ev.run(main_fails, ranks=3, threads=threads)
    (note,) = caught.value.__notes__
    assert note.startswith("raised by 'main' on rank 1\n")
    assert 'raise ZeroDivisionError("of rank 1")' in note


def arguments(_rank: ev.Rank) -> list[str]:
    return sys.argv


def test_ranks_have_the_arguments_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["program.py", "--steps", "3", "a b", "", "-c", "\udcff"]
    monkeypatch.setattr(sys, "argv", given)
    assert ev.run(arguments, ranks=2) == [given, given]


def line_of(function: Any, text: str) -> str:
    """Return the file and the line of a text in a function, as reports have them."""
    lines, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + [text in line for line in lines].index(True)}"


def waits_for_nothing(rank: ev.Rank) -> None:
    rank.submit(total, on=[(0, "never"), (ev.SELF, "e")])
    rank.fire(ev.SELF, "e")


@WAYS
def test_a_stuck_run_says_what_it_waits_for(threads: bool) -> None:
    with pytest.raises(RunStuckError) as caught:
        ev.run(waits_for_nothing, ranks=2, threads=threads)
    line = line_of(waits_for_nothing, "submit(")
    for rank in range(2):
        wanted = f"rank {rank}:\n  task 'total' ({line}) lacks 'never' from rank 0"
        assert wanted in caught.value.report


@ev.task
def waits() -> None:
    ev.current().wait([(ev.SELF, "never fired")])


def waits_in_a_task(rank: ev.Rank) -> None:
    rank.submit(waits)
    rank.wait([(ev.SELF, "never fired either")])


@WAYS
def test_a_stuck_run_says_who_waits(threads: bool) -> None:
    with pytest.raises(RunStuckError) as caught:
        ev.run(waits_in_a_task, ranks=1, threads=threads)
    report = caught.value.report
    in_task, in_program = line_of(waits.function, "wait("), line_of(waits_in_a_task, "wait(")
    assert f"a wait of 'waits' ({in_task}) lacks 'never fired' from rank 0" in report
    assert f"a wait of 'main' ({in_program}) lacks 'never fired either' from rank 0" in report


def holds(rank: ev.Rank) -> None:
    rank.submit(total, on=[(ev.SELF, "a"), (ev.SELF, "b")], persistent=True)
    rank.fire(ev.SELF, "a")


@WAYS
def test_what_persistent_tasks_hold_at_the_end_is_reported(threads: bool) -> None:
    with pytest.warns(EventsLeftWarning, match="'a' from rank 0"):
        ev.run(holds, ranks=1, threads=threads)


def hears(lost: ev.Event) -> None:
    ev.current().fire(ev.SELF, "heard", lost.source)


def dies(rank: ev.Rank, asks: bool) -> int:
    if rank.id == 2:
        # Whoever wants to hear of it asks first.
        rank.wait([(0, "ready"), (1, "ready")])
        rank.fire(ev.ALL, "last words")
        rank.wait([(2, "last words")])
        os.kill(os.getpid(), signal.SIGKILL)
    if asks:
        rank.submit(hears, on=[(ev.ANY, ev.RANK_LOST)])
    rank.fire(2, "ready")
    if asks:
        return rank.wait([(2, "last words"), (ev.SELF, "heard")])[1].data
    rank.wait([(2, "last words"), (2, "never")])
    return -1


def test_a_rank_that_dies_ends_the_run() -> None:
    with pytest.raises(RankLostError, match="rank 2 is lost: its process was killed by SIGKILL"):
        ev.run(dies, ranks=3, args=(False,))


def dies_alone(rank: ev.Rank) -> None:
    """Die as the last rank; only the first one goes on."""
    if rank.id == 0:
        rank.submit(lambda _: None, on=[(ev.ANY, ev.RANK_LOST)])
    rank.fire(ev.ALL, "ready")
    rank.wait([(ev.ALL, "ready")])
    if rank.id == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if rank.id == 1:
        rank.wait([(2, "never")])


def test_the_error_of_a_lost_rank_names_those_that_did_not_ask_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_GRACE_S", "0.5")
    with pytest.raises(RankLostError, match="stderr; rank 1 had neither a task nor a wait") as lost:
        ev.run(dies_alone, ranks=3)
    assert lost.value.rank == 2


def computes(rank: ev.Rank) -> None:
    """Die as the last rank; the others compute, and make no call."""
    if rank.id == rank.size - 1:
        rank.wait([(ev.ANY, "ready")] * rank.id)
        os.kill(os.getpid(), signal.SIGKILL)
    rank.fire(rank.size - 1, "ready")
    threading.Event().wait()


def test_a_rank_that_dies_ends_the_run_while_others_compute() -> None:
    with pytest.raises(RankLostError, match="rank 2 is lost: its process was killed by SIGKILL"):
        ev.run(computes, ranks=3)


def test_a_program_that_asks_for_lost_ranks_goes_on() -> None:
    assert ev.run(dies, ranks=3, args=(True,)) == [2, 2, None]


def test_a_setting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be at least 1"):
        ev.run(add, ranks=0)
    with pytest.raises(ConfigurationError, match="one of worker, thread"):
        ev.run(add, progress="magic")


def busy(rank: ev.Rank, folder: Path) -> list[str]:
    """Keep the only worker of rank 1 until rank 0 has fired more than a ring has room for."""
    fired, count = folder / "fired", 4_000
    if rank.id == 1:
        found: list[str] = []
        # Blocks until somebody has written there.
        rank.submit(fired.read_bytes)
        rank.submit(lambda *events: found.append(f"{len(events)} came"), on=[(0, "x")] * count)
        rank.drain()
        return found
    for _ in range(count):
        rank.fire(1, "x", bytes(1000))
    fired.write_bytes(b"all")
    rank.drain()
    return []


@WAYS
def test_firing_does_not_wait_for_a_task_that_takes_long(threads: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fired")
    found = ev.run(busy, ranks=2, args=(tmp_path,), threads=threads, send_timeout_s=60)
    assert found == [[], ["4000 came"]]


def ring(rank: ev.Rank) -> int:
    rank.fire((rank.id + 1) % rank.size, "x", rank.id)
    return int(rank.wait([(ev.ANY, "x")])[0].data)


def test_many_ranks_are_threads() -> None:
    assert ev.run(ring, ranks=200, threads=True) == [(rank - 1) % 200 for rank in range(200)]


def test_what_a_rank_returns_may_be_larger_than_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    # The system's write takes less than 2 GiB at once.
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, content: write(fd, content[:7]))
    descriptor = os.memfd_create("result")
    memory_files.write(descriptor, pickle.dumps(list(range(100))))
    assert [memory_files.loaded(descriptor) for _ in range(2)] == [list(range(100))] * 2
    os.close(descriptor)


def test_a_communicator_of_threads_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="give one of both"):
        ev.run(add, threads=True, comm="world")
    with pytest.raises(ConfigurationError, match="an intracommunicator of mpi4py"):
        ev.run(add, comm="world")


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_WORKERS", "none")
    with pytest.raises(ConfigurationError, match="FREESTONE_EVENTS_WORKERS"):
        ev.run(add)


def naps(rank: ev.Rank, bell: Path) -> None:
    rank.when_readable(os.open(bell, os.O_RDONLY | os.O_NONBLOCK), "wake")
    rank.wait([(ev.SELF, "wake")])


def output_of_naps(
    ranks: int, folder: Path, capfd: pytest.CaptureFixture[str], **settings: Any
) -> str:
    """Let ranks wait until each has reported what it waits for; what they wrote."""
    bell = folder / "bell"
    os.mkfifo(bell)
    errors: list[str] = []

    def is_reported() -> bool:
        errors.append(capfd.readouterr().err)
        return all(f"'wake' from rank {rank}" in "".join(errors) for rank in range(ranks))

    def ring_when_reported() -> None:
        until(is_reported)
        with bell.open("r+b", buffering=0) as ringing:
            ringing.write(b"!")
            over.wait()

    over = threading.Event()
    ringer = threading.Thread(target=ring_when_reported)
    ringer.start()
    try:
        ev.run(naps, ranks=ranks, args=(bell,), **settings)
    finally:
        over.set()
        ringer.join()
    return "".join(errors)


def test_a_run_without_progress_says_what_waits(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = output_of_naps(1, tmp_path, capfd, stuck_s=0.05)
    assert "nothing has happened for 50ms" in output
    assert "lacks 'wake' from rank 0" in output


def test_the_environment_says_when_to_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_STUCK_S", "0.05")
    output = output_of_naps(2, tmp_path, capfd)
    for rank in range(2):
        assert f"rank {rank}:\n  a wait of 'main'" in output
        assert f"lacks 'wake' from rank {rank}" in output


def watches(rank: ev.Rank) -> list[str]:
    reading, writing = os.pipe()
    rank.when_readable(reading, "readable")
    rank.when_memory_below("1PiB", "memory")
    rank.when_load_above(0.0, "load")
    rank.when_memory_below(0, "never")
    rank.submit(lambda event: os.write(writing, b"x") and None, on=[(ev.SELF, "memory")])
    found = [event.id for event in rank.wait([(ev.SELF, "load"), (ev.SELF, "readable")])]
    assert "'never' comes when the machine is MemoryBelow(0)" in rank.report()
    assert (rank.stop("never"), rank.stop("never")) == (1, 0)
    os.close(reading)
    with pytest.raises(BadEventError, match="is not open"):
        rank.when_readable(reading, "closed")
    os.close(writing)
    return found


@WAYS
def test_the_machine_fires_events(threads: bool) -> None:
    assert ev.run(watches, ranks=1, threads=threads) == [["load", "readable"]]


WAITS = """
import os
from freestone import events as ev

def main(rank):
    rank.submit(print, on=[(ev.SELF, "late")])
    rank.after(3600, "late")
    os.write(1, b"waiting\\n")  # One write: unbuffered, print writes the line and its end apart.

if __name__ == "__main__":
    ev.run(main, ranks=2)
"""


@pytest.mark.parametrize("interrupt", [os.killpg, os.kill], ids=["terminal", "process"])
def test_an_interrupted_run_says_what_waits_and_leaves_its_trace(
    tmp_path: Path, interrupt: Any
) -> None:
    script, trace = tmp_path / "waits.py", tmp_path / "run.json"
    script.write_text(WAITS)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "FREESTONE_EVENTS_TRACE": str(trace)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["waiting\n"] * 2
    interrupt(process.pid, signal.SIGINT)
    _, output = process.communicate(timeout=60)
    # The first to notice ends the run, and the other one may have dropped its task by then.
    line = 1 + WAITS.splitlines().index(next(one for one in WAITS.splitlines() if "submit" in one))
    waits = "interrupted\nrank {0}:\n  task 'print' ({1}:{2}) lacks 'late' from rank {0}"
    assert any(waits.format(rank, script, line) in output for rank in range(2))
    assert output.count("interrupted\n") == 2
    assert "KeyboardInterrupt" in output
    spans = [one for one in json.loads(trace.read_text())["traceEvents"] if one["name"] == "main"]
    assert {one["pid"] for one in spans} == {0, 1}


def test_no_rank_runs_outside_of_a_run() -> None:
    with pytest.raises(RuntimeError, match="no rank runs here"):
        ev.current()
