"""Steering a running cluster, and looking at a run, from another shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import freestone as fs
from freestone.cli import main
from freestone.errors import TaskCancelledError
from tests import waiting


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        yield cluster


def freestone(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "freestone", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_worker_is_let_go(cluster: fs.Cluster) -> None:
    done = freestone("retire", "--cluster", cluster.address, "worker-1")
    assert done.stdout == "worker-1 is let go\n"
    deadline = time.monotonic() + 60
    while len(cluster.statistics().workers) > 1:
        assert time.monotonic() < deadline
    done = freestone("retire", "--cluster", cluster.address, "worker-1")
    assert done.returncode == 2
    assert "there are: worker-0" in done.stderr
    done = freestone("retire", "--cluster", cluster.address, "worker-0")
    assert done.returncode == 2
    assert "worker-0 can't be retired" in done.stderr


def test_calls_are_cancelled_by_their_tag(cluster: fs.Cluster, tmp_path: Path) -> None:
    def wait(path: str, number: int) -> None:
        while not os.path.exists(path):
            time.sleep(0.01)

    futures = [cluster.submit(wait, str(tmp_path / "go"), n, tag="scan") for n in range(3)]
    done = freestone("cancel", "--json", "--cluster", cluster.address, "scan")
    assert json.loads(done.stdout) == {"tag": "scan", "cancelled": 3}
    for future in futures:
        with pytest.raises(fs.FreestoneError, match="cancelled"):
            future.result(60)


def test_calls_of_all_programs_are_cancelled_by_their_tag(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    def wait(number: int) -> int:
        while not (tmp_path / "go").exists():
            time.sleep(0.01)
        return number

    def parent(number: int) -> int:
        there = fs.current()
        assert there is not None
        return there.submit(wait, number, tag="scan").result()

    cluster.share("steered")
    with fs.connect("steered") as one, fs.connect("steered") as two:
        of_task = two.submit(parent, 4)
        assert waiting.until(lambda: cluster.client.manager.clients == 3)
        own = cluster.submit(wait, 0, tag="scan")
        futures = one.map(wait, range(1, 4), tag="scan")
        untagged, other = two.submit(wait, 1), two.submit(wait, 5, tag="other")
        detached = two.submit(wait, 6, tag="scan").detach()
        assert waiting.until(lambda: cluster.statistics().pending == 8)
        # A program finds its own ones.
        two.cancel(tag="gone")
        one.cancel(tag="other")
        one.who_has([])
        assert not any(future.done() for future in (*futures, untagged, other, detached))
        done = freestone("cancel", "--json", "--cluster", "steered", "scan")
        assert json.loads(done.stdout) == {"tag": "scan", "cancelled": 6}
        for future in (own, *futures, detached):
            with pytest.raises(TaskCancelledError):
                future.result(60)
        # What others need, or is detached, goes on; the parent does once a core is free again.
        assert cluster.statistics().pending in (3, 4)
        (tmp_path / "go").touch()
        with pytest.raises(TaskCancelledError):
            of_task.result(60)
        assert (untagged.result(60), other.result(60)) == (1, 5)
        assert two.submit(wait, 6).result(60) == 6
        done = freestone("cancel", "--cluster", "steered", "scan")
        assert done.stdout == "0 calls had the tag 'scan' and are cancelled\n"


def test_a_trace_is_reported_and_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    with fs.Cluster(executors=2, memory="64MiB", disk="64MiB", trace=str(path)) as cluster:
        cluster.gather(cluster.map(abs, range(10)))
    assert main(["report", str(path)]) == 0
    reported = capsys.readouterr().out
    assert "10 attempts at tasks" in reported
    assert f"The figures are in {tmp_path / 'run.html'}" in reported
    assert "</html>" in (tmp_path / "run.html").read_text()
    assert main(["trace", str(path), "--perfetto", str(tmp_path / "out.json")]) == 0
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "task" for event in events) == 10
    assert main(["report", str(tmp_path / "none.jsonl")]) == 2
    assert main(["report", str(tmp_path / "out.json")]) == 2
    assert "give the trace that it was made of" in capsys.readouterr().err


def test_a_trace_is_served_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"kind": "joined", "worker": "worker-0", "at_ns": 1, "slots": 1}\n')
    command = [sys.executable, "-m", "freestone", "report", "--serve", "--json", str(path)]
    environment = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "}\n")
        link = json.loads("".join([*lines, "}"]))["page"]
        with urlopen(f"{link}data/summary", timeout=60) as answer:
            assert json.load(answer)["recorded"] == "run"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert main(["report", "--serve", "-o", "run.html", str(path)]) == 2
