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
from tests.waiting import stop_process, until


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
    assert "cluster lab is served" in log.read_text()
    assert main(["stop", "lab"]) == 0
    assert capsys.readouterr().out == "lab has ended\n"
    assert main(["list"]) == 0
    assert "no cluster is served" in capsys.readouterr().out
    assert until(lambda: not (folder / "lab.name").exists())


def test_the_first_cluster_after_a_reboot_is_served_in_the_foreground(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREESTONE_FOLDER", str(folder / "new"))
    words = [sys.executable, "-m", "freestone", "serve", "--name", "lab", *SMALL]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        assert "cluster lab is served" in served.stdout.readline()
        served.send_signal(signal.SIGINT)
    assert served.returncode == 0


def test_a_cluster_is_served_although_nobody_reads_what_it_prints(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "freestone", "serve", "--name", "lab", *SMALL]
    with subprocess.Popen(words, stdout=writing) as served:
        os.close(writing)
        assert until(lambda: main(["stop", "lab"]) == 0)
    assert served.returncode == 0


FAILS_WHEN_IT_IS_OPEN = """
import os, sys
from freestone import Cluster, cli

share = Cluster.share
def full(cluster, name, **options):
    share(cluster, name, **options)
    cluster.publish("power", cluster.submit(pow, 2, 10))
    cluster["power"].result()
    raise OSError("no space left on device")
Cluster.share = full
sys.exit(cli.main(["serve", "--name", "lab", "--executors=1", "--memory=64MiB", "--disk=64MiB"]))
"""


def test_an_error_leaves_the_cluster_to_the_next_process(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [sys.executable, "-c", FAILS_WHEN_IT_IS_OPEN]
    # To a file: workers live on with what they were given, and the end of a pipe would be theirs.
    with (folder / "printed").open("w") as printed:
        failed = subprocess.run(words, stderr=printed, check=False)
    assert failed.returncode == 1
    assert "no space left on device" in (folder / "printed").read_text()
    cure = "'lab' was killed; 'freestone serve --name lab' goes on with it"
    left = next((folder / "journaled").iterdir())
    socket, access = f"unix:{left}/manager.sock", left / "access.json"
    for cluster in ("lab", access, str(access), socket):
        with pytest.raises(errors.ConnectError, match=cure):
            fs.connect(cluster)
    with pytest.raises(errors.ConnectError, match=cure):
        fs.connect(socket, access=access)
    with pytest.raises(errors.ConnectError, match="that served 'lab' was killed"):
        fs.connect()
    with pytest.raises(errors.ConnectError, match="no running cluster is 'bal'"):
        fs.connect("bal")
    assert main(["cancel", "--cluster", "lab", "tag"]) == 2
    assert "'lab' was killed; 'freestone serve --name lab'" in capsys.readouterr().err
    served = command("serve", "--background", "--name", "lab", *SMALL)
    assert served.returncode == 0, served.stderr
    with fs.connect("lab") as cluster:
        assert cluster["power"].result() == 1024
    assert main(["stop", "lab"]) == 0


ENDED_AS_IT_BEGINS = """
import os, signal
from freestone import cli
from freestone.cli import serve

serve._opened = lambda _: os.kill(os.getpid(), signal.SIGTERM) or print("is opened")
cli.main(["serve", "--name", "lab"])
"""


def test_sigterm_leaves_the_journal_to_the_next_process_before_the_cluster_is_open() -> None:
    words = [sys.executable, "-c", ENDED_AS_IT_BEGINS]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


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
    stop_process(pid)
    assert main(["stop", "lab", "--timeout", "0.2"]) == 2
    assert f"its process with pid {pid} does not answer" in capsys.readouterr().err
    os.kill(pid, signal.SIGCONT)
    # It was asked, and gets to that now.
    main(["stop", "lab"])
    assert until(lambda: main(["list"]) == 0 and "no cluster" in capsys.readouterr().out)


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_wait_for_the_end_has_one(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        cluster.share("mine")
        assert main(["stop", "mine", f"--timeout={seconds}"]) == 2
        assert "give seconds, from 0 to" in capsys.readouterr().err


def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--scheduler", "tcp://h:1"]) == 2
    assert "--on dask" in capsys.readouterr().err
    assert main(["serve", "--", "--partition=long"]) == 2
    assert "--on slurm" in capsys.readouterr().err


def test_what_can_not_be_served_is_one_line(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "journal").write_text("not of freestone")
    done = command("serve", "--journal", str(folder / "other"), *SMALL)
    assert done.returncode == 2
    assert "was not made by freestone" in done.stderr
    assert "Traceback" not in done.stderr
    # An address of no machine's.
    done = command("serve", "--no-journal", "--listen", "tcp://192.0.2.1:0", *SMALL)
    assert done.returncode == 2
    assert done.stderr.startswith("cluster-start: the cluster can't be started: the manager can't")
    assert not [path for path in folder.iterdir() if (path / "access.json").exists()]


def test_a_running_cluster_is_ended_before_a_killed_one_is_given_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = command("serve", "--json", "--background", "--name", "lab", *SMALL)
    pid = json.loads(served.stdout)["pid"]
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: "was killed" in command("list").stdout)
    served = command("serve", "--json", "--background", "--name", "lab", "--no-journal", *SMALL)
    assert served.returncode == 0, served.stderr
    for ended in ("lab has ended\n", "lab is given up\n"):
        assert main(["stop", "lab"]) == 0
        assert capsys.readouterr().out == ended


@pytest.mark.parametrize("name", ["../lab", "a b", "x" * 300])
def test_what_can_not_be_a_name_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--background", "--name", name]) == 2
    assert "can't be the name of a cluster" in capsys.readouterr().err


def test_a_name_that_no_cluster_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "lab"]) == 2
    assert "no running cluster is 'lab'" in capsys.readouterr().err
