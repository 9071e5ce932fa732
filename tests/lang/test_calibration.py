"""Ways are chosen by measurement, kept for the processor, and give the same digits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext, small
from freestone.lang.run import calibration
from freestone.lang.run.calibration import Calibration
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
FOUND = Calibration(2 << 20, True, {"one_thread_s": 1.0})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a cache folder in which nothing is kept yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "is_busy", lambda: False)
    found = calibration.calibrated
    found.cache_clear()
    yield tmp_path
    found.cache_clear()


def test_what_is_measured_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(calibration, "measured", lambda: measured.append(FOUND) or FOUND)
    assert calibration.kept() is None
    for _ in range(2):
        assert calibration.calibrated() == FOUND
        calibration.calibrated.cache_clear()
    assert len(measured) == 1
    assert [path.name for path in folder.rglob("*.json*")] == ["calibration.json"]


def test_each_processor_has_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at, name in enumerate(["one", "other"]):
        monkeypatch.setattr(calibration, "processor", lambda name=name: name)
        assert calibration.kept() is None
        assert calibration.keep(replace(FOUND, alone_nbytes=(at + 1) << 20))
    for at, name in enumerate(["one", "other"]):
        monkeypatch.setattr(calibration, "processor", lambda name=name: name)
        assert calibration.kept() == replace(FOUND, alone_nbytes=(at + 1) << 20)


@pytest.mark.parametrize(
    "own",
    [
        None,
        {},
        {"alone_nbytes": 1},
        {"alone_nbytes": 1 << 40},
        {"alone_nbytes": "2 MiB"},
    ],
)
def test_what_makes_no_sense_is_measured_again(folder: Path, own: Any) -> None:
    path = calibration.kept_in()
    path.parent.mkdir()
    for text in (
        json.dumps({"version": 1, "processors": {calibration.processor(): own}}),
        json.dumps({"version": 0, "processors": {calibration.processor(): vars_of(FOUND)}}),
        json.dumps([own]),
        "no JSON",
    ):
        path.write_text(text)
        assert calibration.kept() is None
    assert calibration.keep(FOUND)
    assert calibration.kept() == FOUND


def vars_of(found: Calibration) -> dict[str, Any]:
    return {"alone_nbytes": found.alone_nbytes}


def test_a_folder_that_can_not_be_written_is_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    monkeypatch.setattr(calibration, "measured", lambda: FOUND)
    assert calibration.calibrated() == FOUND
    assert calibration.kept() is None
    assert not calibration.keep(FOUND)


def test_a_relative_folder_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert calibration.kept_in() == tmp_path / ".cache/freestone/calibration.json"


def test_a_busy_machine_is_not_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured() -> Calibration:
        raise AssertionError

    monkeypatch.setattr(calibration, "is_busy", lambda: True)
    monkeypatch.setattr(calibration, "measured", measured)
    assert calibration.calibrated() == Calibration()
    assert not list(folder.iterdir())


def test_a_measurement_is_within_its_bounds() -> None:
    found = calibration.measured()
    least, most = calibration.MIN_ALONE_NBYTES, calibration.MAX_ALONE_NBYTES
    assert least <= found.alone_nbytes <= most
    assert found.figures is not None
    assert all(seconds > 0 for seconds in found.figures.values())


def test_it_decides_what_has_a_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (np.random.default_rng(at).random((300, 300)) for at in range(2))
    value = CONTEXT.from_numpy(one) * CONTEXT.from_numpy(other)
    results = []
    for nbytes in (calibration.MIN_ALONE_NBYTES, calibration.MAX_ALONE_NBYTES):
        calibration.keep(replace(FOUND, alone_nbytes=nbytes))
        calibration.calibrated.cache_clear()
        found = small.computed(value._value, Settings(vec=True))
        assert (found is None) == (nbytes == calibration.MIN_ALONE_NBYTES)
        results.append(value.compute(Settings(vec=True)))
    assert results[0].tobytes() == results[1].tobytes()


def test_small_values_ask_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "calibrated", None)
    one = CONTEXT.from_numpy(np.ones((100, 100)))
    assert (one + one).compute().sum() == 20_000
