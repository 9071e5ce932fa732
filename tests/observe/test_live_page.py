"""The live page in a real browser, where there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import events as ev
from tests import waiting
from tests.observe.sampled import Turns

sync_api: Any = pytest.importorskip("playwright.sync_api", reason="no Playwright: not tested")

EVIL = "<img src=x onerror=\"document.title='owned'\">"
VIEWS = (
    "overview",
    "timeline",
    "tasks",
    "workers",
    "blocks",
    "transfers",
    "graph",
    "failures",
    "logs",
    "profile",
    "ranks",
)
TIMEOUT_MS = 60_000


def square(x: int) -> int:
    return x * x


def fail(x: int) -> None:
    raise ValueError(f"{x}: <script>document.title='owned'</script>")


def speak(x: int) -> None:
    print(f"{x}: {EVIL}")


def die(x: int) -> None:
    os._exit(3)


def compute(seconds: float) -> None:
    turns = Turns(seconds)
    while not turns.are_over():
        inside()


def inside() -> int:
    return sum(range(10_000))


def answer(rank: ev.Rank) -> None:
    rank.fire(1 - rank.id, EVIL)
    rank.wait([(1 - rank.id, EVIL)])


def wait_for_file(path: str) -> bool:
    return waiting.until(lambda: os.path.exists(path))


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate") / "open"


@pytest.fixture(scope="module")
def run(gate: Path) -> Iterator[fs.Cluster]:
    """A run with 1,000 tasks, failures, kills, and some that wait."""
    options = {"workers": 2, "executors": 1, "memory": "64MiB", "disk": "1GiB", "profile": 0.005}
    with fs.Cluster(trace=str(gate.with_name("run.jsonl")), **options) as cluster:
        cluster.submit(compute, 0.5, name=f"compute {EVIL}").result()
        cluster.gather(cluster.map(square, range(1000)))
        kept = [cluster.submit(np.full, 5000, 1.0, worker=0), cluster.submit(square, 7, name=EVIL)]
        cluster.submit(np.sum, kept[0], worker=1).result()
        cluster.gather(cluster.map(speak, range(60)))
        failed = [*cluster.map(fail, range(10)), cluster.submit(die, 1)]
        for future in failed:
            assert future.exception() is not None
        ev.run(answer, ranks=2, threads=True, trace=gate.with_name("ranks.json"))
        first = cluster.submit(wait_for_file, str(gate), pure=False, name="gate", tag=EVIL)
        waits = cluster.map(square, [first] * 5, pure=False)
        yield cluster
        gate.touch()
        waits.clear()


@pytest.fixture
def page(browser: Any, run: fs.Cluster) -> Iterator[Any]:
    """A page that fails the test when a script of it fails, or it asks another server."""
    page = browser.new_page(viewport={"width": 1200, "height": 850})
    page.set_default_timeout(TIMEOUT_MS)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    assert problems == []
    assert all(url.startswith(str(run.dashboard_link)) for url in asked)
    assert "owned" not in page.title()
    page.close()


def show(page: Any, run: fs.Cluster, view: str) -> Any:
    page.goto(f"{run.dashboard_link}#{view}")
    page.wait_for_selector(f"nav a[href='./#{view}'][aria-current]")
    page.wait_for_selector("main:not([aria-busy])")
    return page.locator("main")


def test_the_overview_counts_by_function(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "overview")
    row = main.locator("tr", has=page.get_by_role("rowheader", name="square", exact=True))
    assert "1,000 / 1,005" in row.inner_text()
    assert main.locator("tr", has_text=EVIL).count() == 2
    assert page.locator("nav .count").inner_text() == "11"


def test_the_timeline_can_be_zoomed_and_asked(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "timeline")
    main.get_by_text("attempts in").wait_for()
    before = main.locator("p[role=status]").inner_text()
    assert " on 2 executors" in before
    canvas = main.locator("canvas").first
    box = canvas.bounding_box()
    assert box["width"] > 800
    assert box["height"] > 60
    shown = sync_api.expect(main.locator("p[role=status]"))
    canvas.focus()
    for key in ("+", "ArrowLeft", "-", "ArrowRight", "+"):
        page.keyboard.press(key)
    shown.not_to_have_text(before, timeout=TIMEOUT_MS)
    page.keyboard.press("Home")
    shown.to_have_text(before, timeout=TIMEOUT_MS)
    drawn = canvas.evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(value => value)"
    )
    assert drawn


def test_what_waits_says_why_and_is_cancelled(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "tasks")
    main.locator("#stage").select_option("waiting")
    rows = main.locator("tbody tr")
    sync_api.expect(rows).to_have_count(5, timeout=TIMEOUT_MS)
    rows.last.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    assert "square(gate) waits for gate('" in dialog.inner_text()
    assert ", which has been running on worker-" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel the task").click()
    sync_api.expect(rows).to_have_count(4, timeout=TIMEOUT_MS)
    main.locator("#tag").fill(EVIL)
    main.get_by_role("button", name="Cancel…").click()
    assert EVIL in dialog.inner_text()
    dialog.get_by_role("button", name="Back").click()
    assert not dialog.is_visible()


def test_the_graph_is_drawn_and_walked_by_the_keyboard(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "graph")
    canvas = main.get_by_role("img", name="Graph: ")
    main.get_by_text("tasks and blocks, ").wait_for()
    canvas.focus()
    page.keyboard.press("ArrowDown")
    chosen = sync_api.expect(main.locator("p[role=status]").first)
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    chosen.to_contain_text("gate ", timeout=TIMEOUT_MS)
    page.keyboard.press("ArrowRight")
    chosen.to_contain_text(": waiting; needs 1, is needed by 0", timeout=TIMEOUT_MS)
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("square(gate) waits for").wait_for()
    dialog.get_by_role("button", name="Close").or_(
        dialog.get_by_role("button", name="Back")
    ).click()
    main.get_by_label("by", exact=True).select_option("functions")
    main.get_by_text("functions, 1 edge from").wait_for()
    assert main.get_by_role("row", name="square gate").count() == 1


def test_failures_show_their_traceback(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "failures")
    main.locator("details").first.wait_for()
    assert main.locator("details").count() == 11
    assert "its executor exited with status 3" in main.inner_text()
    one = main.locator("details", has_text="ValueError: 9: <script>")
    one.locator("summary").click()
    assert "in fail" in one.locator("pre").inner_text()


def test_logs_show_what_tasks_printed_last(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "logs")
    main.locator("pre").first.wait_for()
    assert main.locator("pre").count() == 50
    page.get_by_label("with the text").fill("59: <img")
    one = main.locator("pre")
    one.get_by_text("59: ").wait_for()
    assert (one.count(), one.inner_text()) == (1, f"59: {EVIL}\n")
    main.get_by_role("button", name="What became of speak").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("What it printed").wait_for()
    assert f"59: {EVIL}" in dialog.inner_text()
    assert page.title() == "Logs · freestone"


def test_the_flame_graph_is_of_a_function_and_zooms(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "profile")
    label = f"compute {EVIL}"
    page.get_by_label("function", exact=True).select_option(label)
    # That of all tasks has functions of these names, too.
    main.locator("caption").get_by_text(f"{label}: ").wait_for()
    outer = main.get_by_role("button", name="compute (test_live_page.py:").first
    inner = main.get_by_role("button", name="inside (test_live_page.py:").first
    inner.wait_for()
    assert outer.bounding_box()["y"] < inner.bounding_box()["y"]
    inner.press("Enter")
    page.get_by_role("button", name="Zoom out").press("Enter")
    assert page.get_by_role("button", name="Zoom out").is_disabled()
    inner.wait_for()


def test_ranks_have_their_events_and_can_be_zoomed(page: Any, run: fs.Cluster) -> None:
    main = show(page, run, "ranks")
    figure = main.get_by_role("region", name="Timeline of ranks")
    figure.locator("rect").first.wait_for()
    assert figure.locator("path.arrow").count() == 2
    assert main.get_by_role("rowheader", name=EVIL, exact=True).count() == 1

    def labels() -> Any:
        """Return the texts along the axis, and where they are: some stay, and move."""
        script = "labels => labels.map(one => one.textContent + one.getAttribute('x'))"
        return figure.locator("svg > text.mid").evaluate_all(script)

    before = labels()
    figure.focus()
    page.keyboard.press("+")
    assert waiting.until(lambda: labels() != before)
    main.get_by_role("button", name="All").click()
    assert waiting.until(lambda: labels() == before)


def test_workers_blocks_and_transfers(page: Any, run: fs.Cluster) -> None:
    workers = show(page, run, "workers")
    assert workers.get_by_role("button", name="Retire worker-1").count() == 1
    blocks = show(page, run, "blocks")
    blocks.get_by_text("worker-0, worker-1").first.wait_for()
    transfers = show(page, run, "transfers")
    transfers.get_by_role("cell", name="worker-1").first.wait_for()


def test_a_hundred_thousand_tasks_are_drawn_by_the_pixel_and_listed_in_part(
    browser: Any, gate: Path
) -> None:
    options = {"executors": 2, "memory": "64MiB", "disk": "1GiB"}
    with fs.Cluster(trace=str(gate.with_name("many.jsonl")), **options) as cluster:
        cluster.gather(cluster.map(square, range(50_000)))
        shut = str(gate.with_name("shut"))
        first = cluster.submit(wait_for_file, shut, pure=False, name="gate")
        waits = cluster.map(square, [first] * 50_000, pure=False)
        page = browser.new_page(viewport={"width": 1200, "height": 850})
        page.set_default_timeout(TIMEOUT_MS)
        answers: list[int] = []
        page.on("response", lambda response: answers.append(len(response.body())))
        timeline = show(page, cluster, "timeline")
        timeline.get_by_text("50,000 attempts in").wait_for()
        overview = show(page, cluster, "overview")
        assert "50,000 / 100,000" in overview.inner_text()
        tasks = show(page, cluster, "tasks")
        tasks.get_by_text("The first 200 tasks").wait_for()
        assert tasks.locator("tbody tr").count() == 200
        for view in VIEWS:
            show(page, cluster, view)
            assert page.locator("*").count() < 5000, view
        assert max(answers) < 200_000
        page.close()
        cluster.cancel([first, *waits])


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_its_window_and_has_names(
    browser: Any, run: fs.Cluster, barriers: Callable[[Any], list[str]], scheme: str, width: int
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.set_default_timeout(TIMEOUT_MS)
    for view in VIEWS:
        show(page, run, view)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
        # What a screen reader says of buttons, fields and figures.
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, select, input, [role=img], a")].filter(
              one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"""
        )
        assert nameless == 0, view
        assert barriers(page) == [], view
    ink, paper = page.evaluate(
        "(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
        ".map(colour => Number(colour.match(/[0-9]+/)[0]))"
    )
    assert (ink < paper) == (scheme == "light")
    page.close()


def test_another_origin_can_neither_read_nor_act(browser: Any, run: fs.Cluster) -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="1GiB") as other:
        page = browser.new_page()
        page.goto(str(other.dashboard_link))
        outcome = page.evaluate(
            """async link => {
              const act = { method: "POST", body: '{"worker":"worker-0"}',
                            headers: { "Content-Type": "application/json" } };
              const simple = { ...act, headers: {}, mode: "no-cors" };
              const tried = [fetch(link + "data/summary"), fetch(link + "action/retire", act),
                             fetch(link + "action/retire", simple)];
              const status = one => one.then(() => "fulfilled", () => "rejected");
              return Promise.all(tried.map(status));
            }""",
            str(run.dashboard_link),
        )
        page.close()
    # Its own policy refuses, before ours does.
    assert outcome == ["rejected"] * 3
    assert all(not worker.leaving for worker in run.statistics().workers)
