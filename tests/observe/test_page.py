"""The report in a real browser, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.observe import report, trace

FIGURES = ("tasks", "workers", "transfers", "caches", "durations")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a short run leaves that moves blocks from worker to worker."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    options = {"workers": 3, "executors": 1, "memory": "64MiB", "disk": "1GiB"}
    with fs.Cluster(trace=str(path), **options) as cluster:
        made = [cluster.submit(np.full, 50_000, n, worker=n % 3) for n in range(12)]
        added = [cluster.submit(np.add, made[n], made[-n], worker=n % 3) for n in range(12)]
        cluster.gather(added)
    return trace.read(path)


def test_a_run_is_in_its_page(records: list[dict[str, Any]]) -> None:
    run = report.load(records)
    assert run.joined == 3
    assert sum(map(len, run.durations_s.values())) == 24
    assert sum(run.moved.values()) >= 8 * 400_000
    assert run.share.computing > 0
    assert run.path is not None
    labels = [step.label for step in run.path.steps]
    assert (labels[0], labels[-1]) == ("full", "add")
    tasks = [record for record in records if record["kind"] == "task"]
    made = {task["name"] for task in tasks if task["label"] == "full"}
    waited = [task["inputs"].split() for task in tasks if task["label"] == "add"]
    assert len(waited) == 12
    assert all(names and set(names) <= made for names in waited)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_all_figures_and_asks_nobody(
    browser: Any,
    barriers: Callable[[Any], list[str]],
    records: list[dict[str, Any]],
    tmp_path: Path,
    scheme: str,
) -> None:
    held = [
        {"kind": "cache", "worker": "worker-0", "at_ns": at, "memory_nbytes": 10, "disk_nbytes": 0}
        for at in _moments(records)
    ]
    run = report.load([*records, *held])
    drawn = report.page(run, "a short run", ("before", report.load(records)))
    (tmp_path / "run.html").write_text(drawn, "utf-8")
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 800})
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "run.html").as_uri())
    assert asked == [(tmp_path / "run.html").as_uri()]
    assert problems == []
    assert barriers(page) == []
    assert page.title() == "a short run"
    for figure in FIGURES:
        box = page.locator(f"#{figure} svg").first.bounding_box()
        assert box["width"] > 500, figure
        assert box["height"] > 60, figure
    # Nothing sticks out of the page, and text can be told from the ground.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ink, paper = page.evaluate(
        "(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
    )
    assert ink != paper
    page.close()


def _moments(records: list[dict[str, Any]]) -> list[int]:
    joined = [record["at_ns"] for record in records if record["kind"] == "joined"]
    return [max(joined), max(joined) + 1_000_000]
