"""`freestone explain`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from freestone.cli import main


@pytest.mark.parametrize("word", ["closed", "ClosedError", "freestone.errors.ClosedError"])
def test_an_error_is_explained_by_slug_and_by_name(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", word]) == 0
    reported = capsys.readouterr().out
    assert reported.startswith("closed (ClosedError)")
    assert "what to do:" in reported


def test_errors_of_tasks_are_there_in_a_new_process() -> None:
    command = [sys.executable, "-m", "freestone", "explain", "TaskKilledError"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("task-killed (TaskKilledError)")


def test_a_broad_error_names_those_below(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "table", "--json"]) == 0
    assert "missing-column" in json.loads(capsys.readouterr().out)["more exactly"]


def test_all_are_listed_and_misspelt_ones_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json"]) == 0
    assert "task-killed" in json.loads(capsys.readouterr().out)
    assert main(["explain", "clsed"]) == 2
    assert "did you mean 'closed'?" in capsys.readouterr().err
