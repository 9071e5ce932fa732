"""`freestone doctor`: what it finds on a machine that is well, and on others."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest

from freestone.cli import doctor, main

Usage = namedtuple("Usage", "total used free")


def found(capsys: pytest.CaptureFixture[str], status: int) -> dict[str, dict[str, str]]:
    assert main(["doctor", "--json"]) == status
    return {each["check"]: each for each in json.loads(capsys.readouterr().out)}


def test_a_machine_that_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "All that a cluster needs is there."
    assert any(line.startswith("ok       a cluster      started") for line in lines)


def test_a_folder_in_which_no_cluster_can_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FREESTONE_FOLDER", "/proc/none")
    findings = found(capsys, 1)
    assert findings["folder"]["verdict"] == findings["a cluster"]["verdict"] == "wrong"
    assert "FREESTONE_FOLDER" in findings["folder"]["advice"]


def test_a_folder_whose_sockets_have_longer_paths_than_an_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("FREESTONE_FOLDER", str(tmp_path / ("long" * 40)))
    findings = found(capsys, 0)
    assert findings["folder"]["verdict"] == findings["a cluster"]["verdict"] == "ok"


def test_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("FREESTONE_MEMORY", "plenty")
    findings = found(capsys, 1)
    assert "plenty" in findings["settings"]["found"]


def test_little_shared_memory_as_in_a_container(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(64 << 20, 0, 64 << 20))
    monkeypatch.setattr(doctor, "CHECKS", (doctor._shared_memory,))
    findings = found(capsys, 0)
    assert findings["shared memory"]["found"] == "64 MiB free of 64 MiB in /dev/shm"
    assert "--shm-size" in findings["shared memory"]["advice"]


def test_a_package_that_is_too_old(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy>=99", "no-such-package>=1"])
    monkeypatch.setattr(doctor, "CHECKS", (doctor._packages,))
    packages = found(capsys, 0)["packages"]
    assert packages["verdict"] == "missing"
    assert packages["advice"] == "pip install --upgrade numpy"
