"""The page of a recorded run: what it reports, and in a real browser, where there is one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.observe import report, trace
from freestone.observe.dashboard import Dashboard
from freestone.observe.dashboard.recorded import RecordedRanks, RecordedRun
from freestone.observe.report import memory
from tests.observe.test_report import joined, moved, task

EVIL = "<img src=x onerror=\"document.title='owned'\">"
MANY = 100_000
CHANGED = "before => document.querySelector('#timeline [role=status]').innerText !== before"
DRAWN = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(value => value)"


def recorded(records: list[dict[str, Any]]) -> RecordedRun:
    return RecordedRun("run", records, report.load(records))


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    """100,000 attempts of 1 ms on two workers, with a failure and a longer call in the middle."""
    tasks = [
        task(n % 2, (n // 2) * 0.002, 0.001, label=EVIL, name=f"{n:032x}") for n in range(MANY - 2)
    ]
    tasks += [
        task(0, 99.9985, 0.0005, label="fail", name="f" * 32, ended="raised", inputs=f"{0:032x}"),
        task(1, 120, 2.5, label="long", name="e" * 32),
    ]
    return [joined(0), joined(1), *tasks, moved(0, 1, 3, 0.5, 1000)]


@pytest.fixture(scope="module")
def file_of_many(many: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "many.html"
    path.write_text(report.page(report.load(many), "many"), "utf-8")
    return path


@pytest.fixture(scope="module")
def shown(many: list[dict[str, Any]]) -> RecordedRun:
    return recorded(many)


def test_a_task_of_a_hundred_thousand_is_found(shown: RecordedRun) -> None:
    whole = shown.questions["timeline"]({"width": "800"})
    assert whole["count"] == MANY
    assert len(whole["tasks"]["name"]) <= 4000
    assert whole["cells"]["lane"]
    one = shown.questions["timeline"]({"width": "800", "from": "4.0001", "to": "4.0005"})
    assert one["tasks"]["name"] == [f"{4000:032x}", f"{4001:032x}"]


def test_the_story_of_a_task_names_its_inputs(shown: RecordedRun) -> None:
    text = shown.questions["explain"]({"name": "f" * 32})["text"]
    assert text.startswith("fail, attempt 1 on worker-0: ready 0 s before it began at 1 min 40 s;")
    assert f"needed {EVIL} (00000000), which ended at 1 ms" in text
    with pytest.raises(ValueError, match="no task in the trace made"):
        shown.questions["explain"]({"name": "0"})


def test_failures_and_transfers_are_those_of_the_trace(shown: RecordedRun) -> None:
    (failure,) = shown.questions["failures"]({})["failures"]
    assert (failure["label"], failure["ended"]) == ("fail", "raised")
    (pair,) = shown.questions["transfers"]({})["pairs"]
    assert (pair["source"], pair["nbytes"]) == ("worker-0", 1000)
    assert shown.questions["summary"]({})["failed"] == 1


def test_what_failed_for_good_has_its_traceback() -> None:
    about = {"label": EVIL, "name": "f" * 32, "ended": "raised"}
    tasks = [task(0, 1, 1, **about), task(0, 2, 1, **about | {"attempt": 2})]
    why = {"message": f"ValueError: {EVIL}", "traceback": f"Traceback: {EVIL}", "attempt": 2}
    failed = {"kind": "failure", "worker": "worker-0", "at_ns": 103 * 10**9} | about | why
    run = report.load([joined(0), *tasks, failed])
    last, first = RecordedRun("run", [], run).questions["failures"]({})["failures"]
    assert (first["attempts"], first["message"]) == (1, "")
    assert (last["attempts"], last["message"]) == (2, f"ValueError: {EVIL}")
    assert last["traceback"].startswith(f"Traceback: {EVIL}\n{EVIL}, attempt 1 on worker-0")
    drawn = report.page(run, "run")
    assert "What failed" in drawn
    assert "Traceback: &lt;img src=x" in drawn
    assert EVIL not in drawn.replace("\\u003c", "<").partition('id="attempts"')[0]


def test_what_needed_what_is_known(many: list[dict[str, Any]], shown: RecordedRun) -> None:
    graph = shown.questions["graph"]({})
    assert graph["unfinished"] == MANY
    assert graph["nodes"]["name"] == []
    labels = [one["label"] for one in graph["functions"]]
    assert labels == [EVIL, "fail", "long"]
    assert graph["between"] == [(0, 1, 1)]
    few = recorded([one for one in many if one["kind"] == "task"][-3:] + many[2:4])
    graph = few.questions["graph"]({})
    names = graph["nodes"]["name"]
    edges = zip(graph["edges"]["from"], graph["edges"]["to"], strict=True)
    assert [(names[one], names[other]) for one, other in edges] == [(f"{0:032x}", "f" * 32)]
    assert "raised" in graph["nodes"]["stage"]


def test_memory_counts_for_the_function_that_raised_it() -> None:
    def took(start_s: float, label: str, nbytes: int, executor: int = 1) -> dict[str, Any]:
        return task(0, start_s, 0.1, label=label, resident_nbytes=nbytes, executor=executor)

    tasks = [took(0, "a", 50), took(1, "b", 90), took(2, "a", 90), took(3, "c", 0)]
    held = [{"kind": "peak", "label": "a", "at_ns": at, "nbytes": n} for at, n in ((1, 9), (2, 30))]
    found = memory.load([*tasks, took(4, "c", 20, executor=2)], held)
    assert {one.label: one.held_nbytes for one in found.functions} == {"a": 30, "b": 0, "c": 0}
    peaks = {one.label: one.peak_nbytes for one in found.functions}
    assert peaks == {"a": 50, "b": 90, "c": 20}
    assert [(one.pid, one.peak_nbytes, one.label) for one in found.executors] == [
        (1, 90, "b"),
        (2, 20, "c"),
    ]
    assert "raised an executor to" in memory.memory_page(found)


def test_an_empty_trace_is_shown() -> None:
    shown = recorded([])
    assert shown.questions["timeline"]({})["count"] == 0
    assert "report" in shown.questions["summary"]({})["views"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    options = {"workers": 2, "executors": 1, "memory": "64MiB", "disk": "1GiB", "profile": 0.005}
    with fs.Cluster(trace=str(path), **options) as cluster:
        cluster.gather([cluster.submit(sum, [n], name=EVIL) for n in range(20)])
        assert cluster.submit(divmod, 1, 0).exception() is not None
    return trace.read(path)


def test_a_trace_has_the_most_bytes_of_each_function(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with fs.Cluster(trace=str(path), executors=1, memory="64MiB", disk="1GiB") as cluster:
        for _ in range(3):
            cluster.gather(cluster.map(bytes, [200_000, 300_000], pure=False))
    run = report.load(trace.read(path))
    (found,) = run.memory.functions
    assert (found.label, found.made) == ("bytes", 6)
    # What one round has made goes before the next one makes more.
    assert 500_000 <= found.held_nbytes <= found.nbytes


@pytest.fixture
def link(traced: list[dict[str, Any]]) -> Iterator[str]:
    run = report.load(traced)
    with contextlib.closing(
        Dashboard(lambda: RecordedRun("run", traced, run, ("before", run)))
    ) as page:
        yield page.link


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_every_view_of_it(
    browser: Any, barriers: Callable[[Any], list[str]], link: str, scheme: str, width: int
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.set_default_timeout(60_000)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(link)
    page.wait_for_selector("nav a[href='./#report'][aria-current]")
    views = page.locator("nav a").evaluate_all("all => all.map(one => one.hash.slice(1))")
    assert {"report", "timeline", "transfers", "failures"} <= set(views)
    for view in views:
        page.goto(f"{link}#{view}")
        page.wait_for_selector(f"nav a[href='./#{view}'][aria-current]")
        page.wait_for_selector("main:not([aria-busy])")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
        assert barriers(page) == [], view
    assert page.locator("#status").inner_text() == "recorded"
    assert problems == []
    assert "owned" not in page.title()
    page.close()


def test_the_report_is_drawn_and_a_task_tells_its_story(browser: Any, link: str) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 850})
    page.set_default_timeout(60_000)
    page.goto(link)
    page.get_by_role("heading", name="The critical path").wait_for()
    bar = page.locator(".bar div").first
    assert bar.evaluate("one => getComputedStyle(one).flexGrow") != "0"
    page.goto(f"{link}#failures")
    page.locator("summary").click()
    assert "ZeroDivisionError: " in page.locator("summary").inner_text()
    assert "ZeroDivisionError: " in page.locator("details pre").inner_text()
    page.get_by_role("button", name="What became of it?").click()
    assert "divmod, attempt 1 on worker-" in page.get_by_role("dialog").inner_text()
    page.close()


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_file_of_a_hundred_thousand_tasks_zooms_to_one(
    browser: Any,
    barriers: Callable[[Any], list[str]],
    file_of_many: Path,
    scheme: str,
    width: int,
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.set_default_timeout(60_000)
    problems: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file_of_many.as_uri())
    shown = page.locator("#timeline [role=status]")
    page.get_by_text("100,000 attempts in").wait_for()
    canvas = page.locator("#timeline .timeline canvas")
    assert canvas.evaluate(DRAWN)
    before = shown.inner_text()
    canvas.focus()
    page.keyboard.press("+")
    page.wait_for_function(CHANGED, arg=before)
    page.keyboard.press("Home")
    page.get_by_text("100,000 attempts in").wait_for()
    # At the end of the run there is but one.
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 60)
    for _ in range(5):
        page.mouse.wheel(0, -200)
    page.get_by_text("1 attempt in").wait_for()
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    story = page.get_by_role("dialog").inner_text()
    assert "long (eeeeeeee), attempt 1 on worker-1: ready 0 s before it began at 2 min 0 s" in story
    assert barriers(page) == []
    page.keyboard.press("Escape")
    assert "1 attempt in" in shown.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert problems == []
    assert asked == [file_of_many.as_uri()]
    assert page.title() == "many"
    page.close()


def test_a_trace_of_ranks_has_a_page_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "ranks.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "name": "step", "cat": "task", "pid": 0, "tid": 0, '
        '"ts": 1, "dur": 2}]}'
    )
    shown = RecordedRanks(str(path))
    assert shown.questions["summary"]({})["views"] == ["ranks"]
    assert "step" in shown.questions["ranks"]({})["svg"]
