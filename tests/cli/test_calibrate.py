"""`freestone calibrate` measures and keeps; `freestone info` shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freestone.cli import main
from freestone.lang.run import calibration


def test_it_measures_keeps_and_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["info"]) == 0
    assert "is not measured yet: `freestone calibrate`" in capsys.readouterr().out
    assert main(["calibrate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kept"]
    assert found["file"] == str(tmp_path / "freestone/calibration.json")
    assert found["figures"]["one_thread_s"] > 0
    assert main(["info", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["calibration"]
    assert shown == {key: found[key] for key in shown}
    assert shown["alone_nbytes"] >= calibration.MIN_ALONE_NBYTES
    assert main(["info"]) == 0
    assert "one for values of up to" in capsys.readouterr().out


def test_people_read_what_was_measured_and_what_could_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    monkeypatch.setattr(calibration, "is_busy", lambda: True)
    assert main(["calibrate"]) == 0
    shown = capsys.readouterr().out
    assert "can't be written" in shown
    assert "measure again when they do not" in shown
    assert "one_thread_s" in shown
