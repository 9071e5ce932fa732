"""Pages of what ranks did and how jobs were resized."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from freestone import events as ev
from freestone.cli import main
from freestone.errors import FormatError
from freestone.malleable import Resized, timeline
from freestone.observe import chrome
from freestone.observe.dashboard.ranks import RanksView
from freestone.observe.report import lanes, ranks
from freestone.observe.report.lanes import Arrow, Span


def add(one: Any, other: Any) -> None:
    ev.current().fire(0, "<sum>", one.data + other.data)


def halves(rank: ev.Rank) -> int | None:
    if rank.id == 1:
        rank.submit(add, on=[(0, "half"), (ev.SELF, "half")])
    rank.fire(1, "half", 21)
    if rank.id == 0:
        return int(rank.wait([(1, "<sum>")])[0].data)
    return None


@pytest.fixture
def of_ranks(tmp_path: Path) -> str:
    path = tmp_path / "ranks.json"
    assert ev.run(halves, ranks=2, threads=True, trace=path) == [42, None]
    return str(path)


@pytest.fixture
def of_resizes(tmp_path: Path) -> str:
    path = tmp_path / "resizes.json"
    times = {"began_s": 10.0, "spawn_s": 2.0, "data_s": 1.5, "switch_s": 0.5, "total_s": 4.0}
    done = Resized(3, 2, 4, "merge-p2p-sync", moved_nbytes=800, **times)
    failed = Resized(9, 4, 8, "merge-p2p-sync", "no <licence>", began_s=20.0, total_s=1.0)
    timeline.try_write(path, [done, failed])
    return str(path)


def tables(found: ranks.Activity) -> dict[str, Any]:
    return {title: rows for title, _, rows in ranks.figures(found)}


def test_what_ranks_fired_took_and_waited_for(of_ranks: str) -> None:
    found = ranks.load(chrome.read(of_ranks))
    assert found.rows == ["rank 0", "rank 1, program", "rank 1, worker 1"]
    went = sorted(
        (one.name, found.processes[one.from_row], found.processes[one.to_row])
        for one in found.arrows
    )
    assert went == [
        ("<sum>", "rank 1", "rank 0"),
        ("half", "rank 0", "rank 1"),
        ("half", "rank 1", "rank 1"),
    ]
    shown = tables(found)
    counts = {row[0]: (row[1], row[3], row[5], row[6]) for row in shown["Processes"]}
    assert counts == {"rank 0": ("0", "1", "1", "1"), "rank 1": ("1", "0", "2", "2")}
    assert [(row[0], row[1], row[2]) for row in shown["Events"]] == [
        ("half", "2", "0"),
        ("<sum>", "1", "0"),
    ]
    (wait,) = shown["The longest waits"]
    assert (wait[0], wait[1], wait[4]) == ("wait for <sum>", "rank 0", "took <sum> from 1")
    assert "Longest waited rank 0" in " ".join(ranks.summary(found))


def test_what_nobody_took_is_counted() -> None:
    def event(phase: str, **fields: Any) -> dict[str, Any]:
        return {"ph": phase, "pid": 0, "tid": 0, "ts": 5.0, **fields}

    main_ = event("X", name="main", cat="main", dur=9.0)
    found = ranks.load([main_, event("s", name="lost", id=1)])
    assert found.untaken == [("lost", "process 0")]
    assert tables(found)["Events"] == [("lost", "1", "1", "-", "-")]


def test_resizes_have_their_phases(of_resizes: str) -> None:
    found = ranks.load(chrome.read(of_resizes))
    assert found.rows == ["job"]
    done, failed = tables(found)["Resizes"]
    assert done == ("2 to 4", "10 s", "2 s", "1 s", "500 ms", "4 s", "800 bytes", "done")
    assert (failed[0], failed[-1]) == ("4 to 8", "no <licence>")
    assert ranks.summary(found) == ["1 resize done and 1 failed; the job waited 500 ms for them."]
    spans = {span.name: (span.kind, span.begin_s, span.end_s) for span in found.spans}
    assert spans["moved"] == ("moved", 2.5, 3.5)
    assert spans["2 to 4 processes"] == ("main", 0, 4)


@pytest.mark.parametrize("trace", ["of_ranks", "of_resizes"])
def test_the_command_draws_them_as_a_page(
    trace: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(request.getfixturevalue(trace))
    assert main(["report", str(path)]) == 0
    assert f"The figures are in {path.with_suffix('.html')}" in capsys.readouterr().out
    page = path.with_suffix(".html").read_text("utf-8")
    assert not re.search(r"<sum>|<licence>|https?://(?!www.w3.org)|<script", page)
    assert page.count("<rect") >= 3
    assert (page.count('class="arrow"') == 3) == (trace == "of_ranks")


def test_what_is_no_such_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    for text in ("{", "{}", '{"traceEvents": 3}', '{"traceEvents": [3]}'):
        path.write_text(text)
        assert chrome.is_chrome(path)
        with pytest.raises(FormatError, match="it has no list 'traceEvents'"):
            chrome.read(path)
    path.write_text('{"traceEvents": [{"ph": "X"}]}')
    assert main(["report", str(path)]) != 0
    path.write_text("[]")
    assert not chrome.is_chrome(path)
    assert ranks.summary(ranks.load([])) == ["Nothing was recorded."]
    assert "</html>" in ranks.page(ranks.load([]), "nothing")


def test_of_many_spans_the_longest_are_drawn() -> None:
    spans = [Span(0, f"t{n}", "task", n, n + 0.5) for n in range(lanes.MAX_SPANS)]
    spans += [Span(1, "long", "task", 0, 100.0), Span(1, "inside", "wait", 1, 2.0)]
    arrows = [Arrow("x", 0, n, 1, n + 1.0) for n in range(lanes.MAX_ARROWS + 1)]
    drawn = lanes.draw(["one", "two"], spans, arrows, (0, lanes.MAX_SPANS))
    assert drawn.count("<rect") == lanes.MAX_SPANS
    assert drawn.count('class="arrow"') == lanes.MAX_ARROWS
    assert "the 3,000 longest of 3,002 spans, 500 of 501 arrows" in drawn
    zoomed = lanes.draw(["one", "two"], spans, arrows, (10, 12))
    assert zoomed.count("<rect") == 4
    inside = lanes.draw(["one", "two"], spans, [], (0, 2))
    (tall,) = re.findall(r'height="(\d+)"[^>]*><title>long', inside)
    (low,) = re.findall(r'height="(\d+)"[^>]*><title>inside', inside)
    assert int(low) < int(tall)


def test_the_page_shows_what_the_program_has_written_and_nothing_else(
    of_ranks: str, of_resizes: str, tmp_path: Path
) -> None:
    view = RanksView()
    first = view.answer({})
    assert first["files"][:2] == [of_resizes, of_ranks]
    assert [one["title"] for one in first["tables"]] == ["Resizes"]
    known = view.answer({"known": first["key"]})
    assert known == {"files": first["files"], "file": of_resizes, "key": first["key"]}
    part = view.answer({"file": of_ranks, "from": "0", "to": "0.001"})
    assert (part["from_s"], part["to_s"]) == (0, 0.001)
    with pytest.raises(ValueError, match="goes from one moment to a later one"):
        view.answer({"from": "2", "to": "1"})
    other = tmp_path / "other.json"
    other.write_text('{"traceEvents": []}')
    with pytest.raises(ValueError, match="the program has written no trace"):
        view.answer({"file": str(other)})
    Path(of_resizes).unlink()
    gone = view.answer({"file": of_resizes})
    assert "It can't be shown" in gone["summary"][0]
    assert (gone["svg"], gone["tables"]) == ("", [])


def test_the_last_files_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "_written", {})
    assert "has written no trace" in RanksView().answer({})["summary"][0]
    for number in (*range(20), 18):
        chrome.write(tmp_path / f"{number}.json", [], "ms")
    names = [Path(path).stem for path in chrome.written()]
    assert names == ["18", "19", *map(str, range(17, 3, -1))]
    assert json.loads((tmp_path / "3.json").read_text()) == {
        "traceEvents": [],
        "displayTimeUnit": "ms",
        "otherData": {"of": "ranks"},
    }
