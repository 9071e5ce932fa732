"""A pytest plugin that writes a line of JSON for each test, and leaves out tests of other days."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest

REPORT = "OUTSIDE_REPORT"
"""The variable with the path of the report."""

PART = "OUTSIDE_PART"
"""The variable that says which tests run, as "2/5": every fifth, by a hash of its name."""

ONLY = "OUTSIDE_ONLY"
"""The variable with the path of a list of tests, in JSON, if only these run."""


def part_of(name: str, parts: int) -> int:
    """Give the part, from 0, that a test belongs to."""
    return zlib.crc32(name.encode()) % parts


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not to run."""
    part, parts = map(int, os.environ.get(PART, "0/1").split("/"))
    only = json.loads(Path(os.environ[ONLY]).read_text()) if ONLY in os.environ else None

    def runs(item: pytest.Item) -> bool:
        return item.nodeid in only if only is not None else part_of(item.nodeid, parts) == part

    others = [item for item in items if not runs(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if runs(item)]


class _Report:
    """Writes as it goes, so that a run that is ended leaves what it had."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._begun: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test when it has ended; its worst phase counts."""
        new = {"name": report.nodeid, "outcome": "passed", "why": ""}
        one = self._begun.setdefault(report.nodeid, new)
        if report.failed:
            one["outcome"], one["why"] = "failed", _reason(report)
        elif report.skipped and one["outcome"] == "passed":
            one["outcome"] = "skipped"
        if report.when == "teardown":
            self._write(self._begun.pop(report.nodeid))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write a module that can't be imported as a test that failed."""
        if report.failed:
            self._write({"name": report.nodeid, "outcome": "failed", "why": _reason(report)})

    def _write(self, one: dict[str, str]) -> None:
        self._file.write(json.dumps(one) + "\n")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash else str(report.longrepr)[-400:]


def pytest_configure(config: pytest.Config) -> None:
    """Begin the report."""
    path = os.environ.get(REPORT)
    if path:
        config.pluginmanager.register(_Report(Path(path)), "outside-report")
