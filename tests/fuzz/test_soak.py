"""A soak's verdict: what its load, its fuzzers and its watcher find."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fuzz import soak
from tests.fuzz.planted import FAULTY, PLANTED

pytestmark = pytest.mark.timeout(600)


def test_a_soak_without_time_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    assert soak.main(["--seconds", "0"]) == 0
    assert capsys.readouterr().out.endswith("\n0 findings\n")
    assert dict(os.environ) == before


def test_what_goes_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "LOADS", {"nothing": None})
    monkeypatch.setattr(soak, "FUZZERS", {"differ": PLANTED["differ"]})
    path = tmp_path / "findings.json"
    words = ["--seconds", "10", "--seed", "0", "--json", str(path)]
    assert soak.main(words) == 1
    found = {each["fuzzer"]: each for each in json.loads(path.read_text())}
    assert found["differ"]["seed"] == FAULTY
    load = found["soak of nothing"]
    assert load["text"] == "ended with status 1"
    assert "KeyError: 'nothing'" in load["detail"]
    assert load["command"] == "python -m tests.fuzz.soak --seed 0 --seconds 10"
