"""What a notebook shows of each object that a user holds, in a browser, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.lang.daphnelib import DaphneContext

WIDTHS = (800, 390)
# Background and text of JupyterLab's themes.
THEMES = {"light": ("#ffffff", "#212121"), "dark": ("#111111", "#e0e0e0")}
PAGE = """<!doctype html><html lang="en"><title>notebook</title><style>
body {{ background: {0}; color: {1}; font: 14px sans-serif; margin: 8px; color-scheme: {2} }}
</style><main><h1>notebook</h1>{3}</main></html>"""


def fails() -> None:
    print("begins")
    raise ValueError("no such event")


@pytest.fixture(scope="module")
def shown() -> Iterator[dict[str, str]]:
    """HTML of what a user holds, by what it is."""
    pyarrow = pytest.importorskip("pyarrow", reason="frames need pyarrow")
    settings: dict[str, Any] = {"memory": "256MiB", "disk": "64MiB", "logs": "none"}
    with fs.Cluster(executors=2, profile=0.005, **settings) as cluster:
        array = fs.Array.from_numpy(np.arange(4_000.0).reshape(-1, 4), 100)
        done = cluster.submit(sum, list(range(1_000_000)))
        done.result()
        failed = cluster.submit(fails)
        assert failed.exception() is not None
        held: dict[str, Any] = {
            "cluster": cluster,
            "future": done,
            "failed future": failed,
            "statistics": cluster.statistics(),
            "explanation": cluster.explain(failed),
            "logs": cluster.logs(failed),
            "profile": cluster.profile(),
            "array": array,
            "expression": array + 1,
            "bag": fs.Bag.from_items(["a", "b"], 1),
            "frame": fs.Frame.from_arrow(pyarrow.table({"mass": [1.0, 2.0]})),
            "partition": fs.split(array)[0],
            "lazy array": DaphneContext().from_numpy(np.ones((3, 3))) + 1,
        }
        yield {name: value._repr_html_() for name, value in held.items()}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_everything_can_be_read(
    shown: dict[str, str],
    theme: str,
    width: int,
    browser: Any,
    barriers: Callable[[Any], list[str]],
    tmp_path: Path,
) -> None:
    blocks = "".join(f"<h2>{name}</h2><div>{text}</div>" for name, text in shown.items())
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    try:
        page.set_content(PAGE.format(*THEMES[theme], theme, blocks))
        page.screenshot(path=tmp_path / f"{theme}-{width}.png", full_page=True)
        assert barriers(page) == []
        heights = page.evaluate(
            "[...document.querySelectorAll('main > div')].map(e => e.clientHeight)"
        )
        assert min(heights) > 10
        # What is wider scrolls in a box of its own.
        wide = ".filter(e => e.scrollWidth > e.clientWidth)"
        names = ".map(e => e.previousElementSibling.textContent)"
        assert page.evaluate(f"[...document.querySelectorAll('main > div')]{wide}{names}") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()
