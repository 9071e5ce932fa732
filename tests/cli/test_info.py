from __future__ import annotations

import json
import subprocess
import sys

import pytest

from freestone import __version__
from freestone.cli import main

HEAVY = {"numpy", "cloudpickle", "asyncio", "multiprocessing", "rich", "pyarrow", "joblib"}


def test_it_is_reported_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FREESTONE_MEMORY", "2GiB")
    assert main(["info"]) == 0
    reported = capsys.readouterr().out
    assert f"freestone  {__version__}" in reported
    line = next(line for line in reported.splitlines() if line.startswith("memory "))
    assert "free of" in line
    line = [line for line in reported.splitlines() if line.startswith("memory ")][1]
    assert "2 GiB" in line
    assert "environment FREESTONE_MEMORY" in line


def test_it_is_reported_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["machine"]["cores"] >= 1
    assert data["machine"]["memory_nbytes"] >= data["machine"]["free_memory_nbytes"] > 0
    assert data["extras"]["rich"]
    origins = {row["key"]: row["origin"] for row in data["settings"]}
    assert "workers" in origins


def test_a_wrong_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FREESTONE_WORKER", "2")
    assert main(["info"]) == 2
    assert "did you mean 'workers'" in capsys.readouterr().err


def test_it_starts_at_once_because_nothing_heavy_is_imported() -> None:
    script = "import sys; from freestone.cli import main; main(['info', '--quiet'])"
    check = f"; sys.exit(repr(set(sys.modules) & {HEAVY!r} or ''))"
    done = subprocess.run(
        [sys.executable, "-c", script + check], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "''"
