"""A real browser, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: not tested")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("PAGES ARE NOT TESTED IN A BROWSER: there is no chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def barriers() -> Callable[[Any], list[str]]:
    """Return what axe finds on a page that keeps people from using it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe").Axe()

    def find(page: Any) -> list[str]:
        found = axe.run(page).response["violations"]
        return [
            f"{one['id']}, {one['impact']}: {node['html'][:200]}: {node['failureSummary']}"
            for one in found
            for node in one["nodes"]
        ]

    return find
