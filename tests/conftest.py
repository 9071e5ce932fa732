"""Clusters for tests: real processes on this machine."""

from __future__ import annotations

import os
import signal
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.lang.run import calibration

# A shell starts what runs in its background with Ctrl-C ignored, and children inherit that; those
# that the tests start would then never end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _same_calibration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have all processes take the same ways, whatever is fast on this machine, and keep nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        calibration.keep(calibration.Calibration())
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    """One worker with two executors, shared by the tests of a module."""
    with fs.Cluster(executors=2, memory="256MiB", disk="1GiB") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def two_workers() -> Iterator[fs.Cluster]:
    """Two workers that share nothing but sockets."""
    with fs.Cluster(workers=2, executors=1, memory="256MiB", disk="1GiB") as cluster:
        yield cluster


class Skips:
    """Fails a run in continuous integration that skips a test without an entry in `skips.toml`."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(allowed)
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._see(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._see(report)

    def _see(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not report.nodeid.startswith(self.allowed):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            self.found[report.nodeid] = str(reason)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.found:
            terminalreporter.section("skipped without an entry in tests/skips.toml", red=True)
        for test, reason in self.found.items():
            terminalreporter.write_line(f"{test}: {reason}")


SLOWEST = (
    "tests/collections/tables/test_sql_parts.py",
    "tests/lang/test_array_expressions.py",
    "tests/collections/tables/test_sql_windows.py",
    "tests/chaos/test_served.py",
    "tests/malleable/test_world.py",
    "tests/chaos/test_examples.py",
    "tests/lang/test_fuzz.py",
    "tests/docs/test_code_blocks.py",
    "tests/fuzz/test_fuzzers.py",
    "tests/collections/tables/test_dynamic.py",
    "tests/events/test_stopped.py",
    "tests/chaos/test_analyses.py",
)
"""Files, the slowest first, as the end of `make test` names them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have several processes begin with the slowest files: one at the end would keep one busy."""
    if hasattr(config, "workerinput"):
        places = {file: place for place, file in enumerate(SLOWEST)}
        items.sort(key=lambda item: places.get(file_of(item.nodeid), len(places)))


def file_of(test: str) -> str:
    return test.partition("::")[0]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name as many of the slowest files as `--durations` asks for of tests."""
    count = terminalreporter.config.getoption("durations")
    if not count:
        return
    spent: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                spent[file_of(report.nodeid)] += report.duration
    terminalreporter.section(f"slowest {count} files, of {spent.total():.0f} s in all")
    for file, duration_s in spent.most_common(count):
        terminalreporter.write_line(f"{duration_s:.2f}s {file}")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI"):
        allowed = tomllib.loads(Path(__file__).with_name("skips.toml").read_text("utf-8"))
        config.pluginmanager.register(Skips(allowed), "skips")
