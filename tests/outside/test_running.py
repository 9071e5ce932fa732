"""How outcomes of other people's tests are compared with the list of failures."""

from __future__ import annotations

import datetime

import pytest

from tests.outside.report import part_of
from tests.outside.running import Outcome, expected_failures, judge, todays_part
from tests.outside.suites import SUITES, Suite


def test_failures_are_accepted_by_name_with_or_without_parameters() -> None:
    expected = {"a.py::f": "one", "a.py::g[1]": "two", "a.py::h": "three", "a.py::i": "four"}
    verdict = judge(
        [
            Outcome("a.py::f[1]", "failed", "x"),
            Outcome("a.py::f[2]", "passed"),
            Outcome("a.py::g[1]", "failed", "x"),
            Outcome("a.py::g[2]", "failed", "why"),
            Outcome("a.py::h[1]", "passed"),
            Outcome("a.py::i", "skipped"),
            Outcome("a.py::ok", "passed"),
        ],
        expected,
    )
    assert verdict.accepted == {"a.py::f[1]": "one", "a.py::g[1]": "two"}
    assert verdict.unexpected == {"a.py::g[2]": "why"}
    assert verdict.obsolete == ["a.py::h"]
    assert (verdict.passed, verdict.skipped) == (3, 1)


def test_each_part_comes_once_in_so_many_days() -> None:
    day = datetime.date(2026, 1, 30)
    days = [day + datetime.timedelta(days=number) for number in range(8)]
    assert sorted(todays_part(8, one) for one in days) == list(range(8))
    parts = [part_of(f"test_{number}", 8) for number in range(4000)]
    assert all(400 < parts.count(part) < 600 for part in range(8))


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_accepted_failure_has_a_reason(suite: Suite) -> None:
    for test, reason in expected_failures(suite).items():
        assert "::" in test
        assert len(reason.split()) > 4
