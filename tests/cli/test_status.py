from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from freestone import _native
from freestone.cli import main
from freestone.observe.control import ControlServer
from freestone.observe.figures import Statistics, WorkerFigures, WorkerStatus

WORKER = WorkerFigures(
    worker="worker-0", slots=2, status=WorkerStatus(running=1, memory_nbytes=2048)
)
STATISTICS = dataclasses.asdict(Statistics(done=1234, waiting=3, workers=(WORKER, WORKER)))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FREESTONE_FOLDER", str(tmp_path))
    folder = tmp_path / f"{os.getpid()}-ab"
    owned = _native.folders.OwnedFolder.take(str(folder))
    card = {"pid": os.getpid(), "started": time.time() - 75, "socket": f"{folder}/manager.sock"}
    (folder / "cluster.json").write_text(json.dumps(card))

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        return {"statistics": STATISTICS}

    server = ControlServer(folder, answer)
    yield folder
    server.close()
    owned.remove()


def test_a_cluster_has_a_row(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["cluster", "pid", "up", "workers"]
    assert row.split()[:3] == [cluster.name, str(os.getpid()), "1"]
    assert row.split()[-9:] == ["4", "2", "3", "1234", "0", "4", "KiB", "0", "bytes"]


def test_all_of_it_is_in_json(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["folder"] == str(cluster)
    assert found["status"]["statistics"]["done"] == 1234


@pytest.mark.parametrize("form", ["{0.name}", "{0}", "unix:{0}/manager.sock", "{0}/manager.sock"])
def test_one_can_be_named(cluster: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--quiet", "--cluster", form.format(cluster)]) == 0
    assert capsys.readouterr() == ("", "")


def test_another_is_refused_with_those_that_run(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--cluster", "other"]) == 2
    assert f"there are: {cluster.name}" in capsys.readouterr().err


def test_one_that_does_not_answer_is_shown(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster / "control.sock").unlink()
    assert main(["status"]) == 0
    assert "No such file" in capsys.readouterr().out


def test_none_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FREESTONE_FOLDER", str(tmp_path / "none"))
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "no cluster runs on this machine\n"
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
