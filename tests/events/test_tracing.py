"""What ranks did, as Perfetto shows it."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from freestone import events as ev
from freestone.cli import main
from freestone.errors import ConfigurationError, FormatError
from freestone.errors.events import RankLostError
from freestone.events import tracing
from freestone.observe.dashboard.ranks import RanksView
from freestone.observe.rings import Ring, Span, Trace, read_folder


def traced(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["traceEvents"]
    return found


def arrows(found: list[dict[str, Any]]) -> set[tuple[str, int, int]]:
    """Return the identifier of each event that came, with its source and its target."""
    ends: dict[str, dict[int, dict[str, Any]]] = {"s": {}, "f": {}}
    for one in found:
        if one["ph"] in ends:
            assert one["id"] not in ends[one["ph"]], "an arrow has one beginning and one end"
            ends[one["ph"]][one["id"]] = one
    assert ends["f"].keys() <= ends["s"].keys()
    begun = ends["s"]
    assert all(begun[number]["ts"] <= one["ts"] for number, one in ends["f"].items())
    return {(one["name"], begun[number]["pid"], one["pid"]) for number, one in ends["f"].items()}


def names(found: list[dict[str, Any]], rank: int) -> list[str]:
    return [one["name"] for one in found if one["ph"] == "X" and one["pid"] == rank]


def total(one: Any, other: Any) -> int:
    ev.current().fire(0, "total", one.data + other.data)
    return int(one.data + other.data)


def halves(rank: ev.Rank) -> int | None:
    if rank.id == 1:
        rank.submit(total, on=[(0, "half"), (ev.SELF, "half")], then="done")
    rank.fire(1, "half", 21)
    if rank.id == 1:
        return int(rank.wait([(ev.SELF, "done")])[0].data)
    rank.lock("door")
    return int(rank.wait([(1, "total")])[0].data)


@pytest.mark.parametrize("threads", [True, False])
def test_each_event_leads_to_who_took_it(tmp_path: Path, threads: bool) -> None:
    path = tmp_path / "run.json"
    assert ev.run(halves, ranks=2, threads=threads, trace=path) == [42, 42]
    found = traced(path)
    wanted = {("half", 0, 1), ("half", 1, 1), ("total", 1, 0), ("done", 1, 1)}
    assert arrows(found) == wanted
    assert names(found, 0) == ["fire half", "lock door", "wait for total", "main"]
    assert sorted(names(found, 1)) == [
        "fire done",
        "fire half",
        "fire total",
        "main",
        "total",
        "wait for done",
    ]
    (task,) = (one for one in found if one["name"] == "total" and one["ph"] == "X")
    assert task["args"] == {"took": ["half from 0", "half from 1"]}


def ring(rank: ev.Rank) -> None:
    for target in (ev.ALL, [rank.id], ev.SELF):
        rank.fire(target, "token")
    for _ in range(2 + rank.size):
        rank.wait([(ev.ANY, "token")])


def test_events_to_several_ranks_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    ev.run(ring, ranks=3, threads=True, trace=str(path))
    found = traced(path)
    assert arrows(found) == {("token", one, other) for one in range(3) for other in range(3)}
    assert sum(one["ph"] == "f" for one in found) == 3 * 5


def fail(_: Any) -> None:
    raise ValueError("no")


def failing(rank: ev.Rank) -> None:
    rank.submit(fail, on=[(ev.SELF, "go")])
    rank.fire(ev.SELF, "go")


def test_a_run_that_fails_leaves_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(ValueError, match="no"):
        ev.run(failing, ranks=1, threads=True, trace=path)
    (task,) = (one for one in traced(path) if one["name"] == "fail" and one["ph"] == "X")
    assert task["args"]["raised"] == "ValueError"


def test_without_a_trace_nothing_is_noted() -> None:
    def main(rank: ev.Rank) -> bool:
        return rank.trace() is None

    assert ev.run(main, ranks=1, threads=True) == [True]


def test_the_environment_asks_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_TRACE", str(tmp_path / "run.json"))
    ev.run(ring, ranks=1, threads=True)
    assert "main" in names(traced(tmp_path / "run.json"), 0)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"trace=.*must end in \.json"):
        ev.run(ring, ranks=1, threads=True, trace=tmp_path / "run.parquet")


def test_of_a_long_run_the_last_spans_are_kept_with_their_numbers() -> None:
    ring = Ring(half_nbytes=1000)
    for number in range(100):
        ring.add(Span("fire x", "fire", 0, number, number + 1, ((1, "x", number),)))
    trace = ring.trace()
    kept = [span.fired[0][2] for span in trace.spans]
    assert kept == list(range(100 - len(kept), 100))
    assert 10 < len(kept) < 40
    assert trace.dropped == 100 - len(kept)


def fall(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die(rank: ev.Rank) -> None:
    if rank.id == 1:
        rank.submit(fall, on=[(0, "come")])
        rank.fire(0, "go")
        # What it fired before is noted by then.
        rank.fire(0, "ready")
        rank.wait([(0, "never")])
    rank.wait([(1, "go"), (1, "ready")])
    rank.fire(1, "come")
    rank.wait([(1, "never")])


def test_what_a_killed_rank_did_is_there_and_what_it_was_at(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(RankLostError, match="SIGKILL"):
        ev.run(die, ranks=2, trace=path)
    found = traced(path)
    (task,) = (one for one in found if one["name"] == "fall" and one["ph"] == "X")
    assert task["args"]["lasts"]
    assert names(found, 1)[0] == "fire go"
    assert ("go", 1, 0) in arrows(found)
    assert not (tmp_path / "run.json.partial").exists()


def look(rank: ev.Rank, folder: str) -> list[str]:
    """Return what the page would show of the run that goes on."""
    rank.fire(ev.SELF, "x")
    rank.wait([(ev.SELF, "x")])
    if rank.id == 0:
        rank.wait([(1, "done")])
        return []
    view = RanksView(lambda: [folder])
    while True:
        answer = view.answer({})
        if "has not ended" in answer["svg"] and "wait for done" in answer["svg"]:
            break
    rank.fire(0, "done")
    return [str(line) for line in answer["summary"]]


def test_a_run_is_seen_while_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    _, lines = ev.run(look, args=(f"{path}.partial",), ranks=2, trace=path)
    assert lines[0].startswith("2 processes in ")
    assert {"wait for done", "main"} <= set(names(traced(path), 0))


def test_a_run_that_ended_is_shown_from_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "run.json")
    ev.run(ring, ranks=1, threads=True, trace=path)
    view = RanksView(lambda: [path])
    assert "main" in view.answer({"file": f"{path}.partial"})["svg"]
    assert main(["report", path, "-o", str(tmp_path / "run.html")]) == 0
    folder = tmp_path / "other.json.partial"
    folder.mkdir()
    Ring(str(folder / "rank-0")).add(Span("<step>", "task", 0, 1, 2))
    assert main(["report", str(folder), "-o", str(tmp_path / "other.html")]) == 0
    assert "&lt;step&gt;" in (tmp_path / "other.html").read_text()


def test_what_is_no_ring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rank-0").write_bytes(b"no")
    with pytest.raises(FormatError, match="no record of what a rank did"):
        read_folder(tmp_path)
    ring = Ring(str(tmp_path / "rank-0"), half_nbytes=4096)
    ring.add(Span("x", "task", 0, 1, 2))
    content = bytearray((tmp_path / "rank-0").read_bytes())
    for _ in range(200):
        content[random.randrange(4096, len(content))] ^= 0xFF
    (tmp_path / "rank-0").write_bytes(content)
    read_folder(tmp_path)


def test_clocks_of_machines_are_merged(tmp_path: Path) -> None:
    def machine(boot: str, epoch_ns: int) -> Trace:
        return Trace([Span("main", "main", 0, 1_000_000, 2_000_000)], 0, boot, epoch_ns)

    there = [machine("a", 5_000_000), machine("a", 5_000_777), None, machine("b", 7_000_000)]
    tracing.end(str(tmp_path / "run.json"), there)
    begun = {one["pid"]: one["ts"] for one in traced(tmp_path / "run.json") if one["ph"] == "X"}
    assert begun == {0: 1000.0, 1: 1000.0, 3: 3000.0}


def test_a_trace_that_cannot_be_written_takes_no_result_along(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning, match="the trace of the ranks could not be written to"):
        ev.run(ring, ranks=1, threads=True, trace=tmp_path / "file" / "run.json")
