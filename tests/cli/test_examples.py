"""`freestone examples` and what shells complete."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from freestone.cli import main
from freestone.cli.main import COMMANDS


def test_examples_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["knn"].startswith("Find the five nearest neighbours")
    assert len(listed) >= 12
    assert all(listed.values())


def test_a_copied_example_runs_where_it_lies(tmp_path: Path) -> None:
    assert main(["examples", "copy", "knn", "--to", str(tmp_path)]) == 0
    copy = tmp_path / "examples/knn/main.py"
    done = subprocess.run(
        [sys.executable, copy, "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "--variant" in done.stdout
    assert not list(tmp_path.rglob("kmeans"))


def test_all_are_copied_once_and_nothing_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["examples", "copy", "--all", "--to", str(tmp_path)]
    assert main(words) == 0
    assert (tmp_path / "examples/daphne/pagerank.daph").is_file()
    assert not list(tmp_path.rglob("__pycache__"))
    mine = tmp_path / "examples/knn/main.py"
    mine.write_text("mine")
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("usage: ")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("words", [["copy"], ["copy", "knn", "--all"], ["copy", "nkn"]])
def test_wrong_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", *words]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith("usage: ")
    assert "`freestone examples`" in reported or "--all" in reported


def test_misspelt_words_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu", "x.py"]) == 2
    assert "did you mean 'run'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["doctor", "--jsn"])
    assert "did you mean '--json'?" in capsys.readouterr().err


def test_bash_completes_commands_and_their_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)

    def complete(*words: str) -> list[str]:
        line = " ".join(repr(word) for word in words)
        asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _freestone"
        printed = f'source {script}; {asked}; echo "${{COMPREPLY[@]}}"'
        return subprocess.run(
            ["bash", "-c", printed], capture_output=True, text=True, check=True
        ).stdout.split()

    assert complete("freestone", "") == list(COMMANDS)
    assert complete("freestone", "serve", "--ba") == ["--background"]
    assert complete("freestone", "access", "rev") == ["revoke"]


def test_zsh_gets_the_same_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    function = capsys.readouterr().out
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.endswith(function)
