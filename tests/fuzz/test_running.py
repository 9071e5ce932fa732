"""Whatever a case does to its process, it is found by its seed, and the next ones are tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fuzz import __main__ as door
from tests.fuzz.fuzzers import FUZZERS
from tests.fuzz.planted import FAULTY, PLANTED
from tests.fuzz.running import run, run_seeds

pytestmark = pytest.mark.timeout(600)
FOREVER_S = float("inf")


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault, fuzzer in PLANTED.items():
        monkeypatch.setitem(FUZZERS, fault, fuzzer)


@pytest.mark.parametrize(
    ("fault", "text", "detail"),
    [
        ("differ", "one is not two", "and this is why"),
        ("fail", "ZeroDivisionError: integer division or modulo by zero", "in _fail"),
        ("crash", "its process was ended by SIGABRT", "Fatal Python error: Aborted"),
        ("hang", "its process was ended by SIGALRM", "in _hang"),
        ("spin", "its process was ended by SIGPROF", "in _spin"),
        ("grow", "its process ended with status 1", "MemoryError: it took 6"),
    ],
)
def test_a_fault_is_found_by_its_seed(fault: str, text: str, detail: str) -> None:
    outcome = run(PLANTED[fault], 0, 6, FOREVER_S)
    (finding,) = outcome.findings
    assert (finding.fuzzer, finding.seed, finding.text) == (fault, FAULTY, text)
    assert detail in finding.detail
    assert outcome.failure == ""
    assert finding.command == f"python -m tests.fuzz {fault} --seed 3 --cases 1"
    (again,) = run_seeds(PLANTED[fault], [5, FAULTY, 4]).findings
    assert (again.seed, again.text) == (FAULTY, text)


def test_only_what_the_case_itself_printed_is_shown() -> None:
    (finding,) = run(PLANTED["crash"], 0, 6, FOREVER_S).findings
    assert "seed 3 is tried" in finding.detail
    assert "seed 2 is tried" not in finding.detail


def test_a_fuzzer_that_cannot_start_is_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["no start", "--seed", "0", "--cases", "2"]) == 2
    assert "no start could not run: its process ended with status 1" in capsys.readouterr().out


def test_findings_are_shown_at_the_end_and_once_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "findings.json"
    words = ["differ", "fail", "--seed", "3", "--cases", "1", "--json", str(path)]
    assert door.main(words) == 1
    ended = capsys.readouterr().out
    assert [each["command"] for each in json.loads(path.read_text())] == [
        "python -m tests.fuzz differ --seed 3 --cases 1",
        "python -m tests.fuzz fail --seed 3 --cases 1",
    ]
    assert door.main(["--show", str(path)]) == 1
    shown = capsys.readouterr().out
    assert ended.endswith(shown)
    assert shown.startswith("\nFINDING of differ: one is not two\n")
    assert shown.endswith("\n2 findings\n")


def test_all_share_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["fail", "differ", "--seed", "10", "--seconds", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # Each tries one case, however short its time is.
    assert [" ".join(line.split()[:5]) for line in lines[:2]] == [
        "fail seed 10: 1 cases",
        "differ seed 10: 1 cases",
    ]


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(SystemExit):
        door.main(["nothing"])
