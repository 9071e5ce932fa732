"""`freestone serve`, `list` and `stop`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import freestone as fs
from freestone import errors
from freestone.cli import main
from tests.waiting import until


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FREESTONE_FOLDER", str(tmp_path))
    return tmp_path


SMALL = ["--executors", "1", "--memory", "64MiB", "--disk", "64MiB"]


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run freestone in a process of its own, and wait for its end."""
    return subprocess.run(
        [sys.executable, "-m", "freestone", *words], capture_output=True, text=True, check=False
    )


def test_a_served_cluster_outlives_its_programs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = command("serve", "--json", "--background", "--name", "lab", *SMALL)
    assert served.returncode == 0, served.stderr
    pid, log = json.loads(served.stdout)["pid"], folder / "lab.log"
    with fs.connect("lab") as first:
        assert f"to watch it:                   {first.dashboard_link}\n" in log.read_text()
        first.publish("power", first.submit(pow, 2, 10))
        assert main(["list", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert (found["name"], found["pid"], found["status"]["programs"]) == ("lab", pid, 1)
    with fs.connect() as second:
        assert second["power"].result() == 1024
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["lab", str(pid)]
    # A second one of that name is refused, and the first runs on.
    second = command("serve", "--background", "--name", "lab", *SMALL)
    assert second.returncode == 2
    assert "another cluster has the name 'lab'" in second.stderr
    assert main(["stop", "lab"]) == 0
    assert capsys.readouterr().out == "lab has ended\n"
    assert main(["list"]) == 0
    assert "no cluster is served" in capsys.readouterr().out
    assert until(lambda: not (folder / "lab.name").exists())


def test_the_death_of_the_server_ends_what_waits_for_it() -> None:
    served = command("serve", "--json", "--background", "--name", "gone", "--no-journal", *SMALL)
    assert served.returncode == 0, served.stderr
    cluster = fs.connect("gone")
    future = cluster.submit(time.sleep, 600)
    os.kill(json.loads(served.stdout)["pid"], signal.SIGKILL)
    with pytest.raises(errors.ConnectError, match="closed by the other side"):
        future.result()
    with pytest.raises(errors.ConnectError, match="closed by the other side"):
        cluster.submit(abs, 1)
    cluster.close()
    with pytest.raises(errors.ConnectError, match="gone"):
        fs.connect("gone")


def test_a_cluster_of_a_program_is_not_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    with fs.Cluster(executors=1, memory="32MiB", disk="32MiB") as cluster:
        cluster.share("mine")
        assert main(["stop", "mine"]) == 2
        assert f"part of the program with pid {os.getpid()}" in capsys.readouterr().err
        assert not cluster.closed


def test_a_server_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    served = command("serve", "--json", "--background", "--name", "lab", *SMALL)
    pid = json.loads(served.stdout)["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert main(["stop", "lab", "--timeout", "0.2"]) == 2
    assert f"its process with pid {pid} does not answer" in capsys.readouterr().err
    os.kill(pid, signal.SIGCONT)
    # It was asked, and gets to that now.
    main(["stop", "lab"])
    assert until(lambda: main(["list"]) == 0 and "no cluster" in capsys.readouterr().out)


def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--scheduler", "tcp://h:1"]) == 2
    assert "--on dask" in capsys.readouterr().err
    assert main(["serve", "--", "--partition=long"]) == 2
    assert "--on slurm" in capsys.readouterr().err


def test_a_name_that_no_cluster_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "lab"]) == 2
    assert "no running cluster is 'lab'" in capsys.readouterr().err
