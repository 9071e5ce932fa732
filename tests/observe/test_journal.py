"""Traces that are written while the run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.cli import main
from freestone.errors import ClusterStartError
from freestone.observe import journal, trace
from freestone.observe.journal import Journal
from freestone.observe.recorder import Recorder
from tests.observe.test_dashboard import OPTIONS, square

ENDINGS = ["parquet", "jsonl", "json"]

CRASHING = """
    import os, signal
    import freestone as fs
    from freestone.observe import journal, trace
    from tests import waiting

    journal._INTERVAL_S = 0.02

    def labels():
        return [one["label"] for one in trace.read(PATH + ".partial") if one["kind"] == "task"]

    with fs.Cluster(executors=1, memory="64MiB", disk="1GiB", trace=PATH) as cluster:
        cluster.gather(cluster.map(abs, range(20)))
        assert waiting.until(lambda: len(labels()) == 20)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def tasks(records: list[dict[str, Any]]) -> list[str]:
    return [record["label"] for record in records if record["kind"] == "task"]


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_killed_program_leaves_its_trace(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"run.{ending}"
    code = f"PATH = {str(path)!r}\n{textwrap.dedent(CRASHING)}"
    done = subprocess.run([sys.executable, "-c", code], cwd=os.getcwd(), timeout=100)
    assert done.returncode == -signal.SIGKILL
    left = tmp_path / f"run.{ending}.partial"
    assert os.listdir(tmp_path) == [left.name]
    records = trace.read(left)
    assert tasks(records) == ["abs"] * 20
    assert trace.summary(records).joined == 1
    out = tmp_path / "run.html"
    assert main(["report", str(left), "-o", str(out)]) == 0
    assert '<th scope="row">abs</th><td>20</td>' in out.read_text("utf-8")
    assert capsys.readouterr().err == ""
    assert main(["report", str(path)]) == 2
    assert f"{left} has what was recorded" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_ends_leaves_the_trace_alone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    with fs.Cluster(trace=str(path), **OPTIONS) as cluster:
        assert os.listdir(tmp_path) == [f"run.{ending}.partial"]
        cluster.gather(cluster.map(square, range(8)))
    assert os.listdir(tmp_path) == [path.name]
    assert tasks(trace.read(path)) == ["square"] * 8


def test_a_journal_that_was_left_is_not_written_over(tmp_path: Path) -> None:
    path, left = tmp_path / "run.jsonl", tmp_path / "run.jsonl.partial"
    left.write_text('{"kind": "left"}\n')
    with fs.Cluster(trace=str(path), **OPTIONS):
        assert set(os.listdir(tmp_path)) == {left.name, "run.jsonl.2.partial"}
    assert set(os.listdir(tmp_path)) == {left.name, path.name}
    assert trace.read(left) == [{"kind": "left"}]


def test_a_cluster_that_does_not_start_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ClusterStartError("no")

    monkeypatch.setattr("freestone.cluster.members.Members.start", fail)
    with pytest.raises(ClusterStartError):
        fs.Cluster(trace=str(tmp_path / "run.jsonl"), **OPTIONS)
    assert os.listdir(tmp_path) == []
    assert "freestone-trace" not in {thread.name for thread in threading.enumerate()}


class FakeManager:
    """Has one record for each time that it is asked."""

    closed = False

    def __init__(self) -> None:
        self.asked = 0

    def observe(self, observed: bool, whole: bool) -> None:
        """Record all, which it does anyway."""

    def take_columns(self) -> list[Any]:
        self.asked += 1
        data = self.asked.to_bytes(8, "little")
        offsets = (0).to_bytes(4, "little") + (4).to_bytes(4, "little")
        return [(1, {"kind": (b"\x01", offsets, b"left"), "at_ns": (b"\x01", None, data)})]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_disk_that_was_full_for_a_time_loses_nothing(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, manager = tmp_path / f"run.{ending}", FakeManager()
    monkeypatch.setattr(journal, "_INTERVAL_S", 1000.0)
    written = Journal(path, Recorder(manager, True))  # type: ignore[arg-type]
    written._append()
    file = written._file
    monkeypatch.setattr(written, "_file", Full(file))
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            written._append()
    monkeypatch.setattr(written, "_file", file)
    written.close()
    times = [record["at_ns"] for record in trace.read(path)]
    assert times == list(range(1, manager.asked + 1))
    assert len(times) >= 5


class Full:
    """A file on a full disk, which takes some of what is written."""

    def __init__(self, file: Any) -> None:
        self._file, self.seek, self.truncate = file, file.seek, file.truncate
        self._has_taken = False

    def write(self, data: memoryview) -> int:
        self._has_taken = not self._has_taken
        if self._has_taken:
            return int(self._file.write(data[:3]))
        raise OSError("the disk is full")


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_what_a_crash_cut_off_is_left_out(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only this test writes.
    monkeypatch.setattr(journal, "_INTERVAL_S", 1000.0)
    path, manager = tmp_path / f"run.{ending}", FakeManager()
    written = Journal(path, Recorder(manager, True))  # type: ignore[arg-type]
    written._append()
    written._append()
    written._stop()
    left = Path(f"{path}.partial")
    whole = left.read_bytes()
    count = len(trace.read(left))
    assert count >= 2
    cut = tmp_path / "cut.partial"
    found = set()
    for size in range(len(whole) - 5, len(whole)):
        cut.write_bytes(whole[:size])
        found.add(len(trace.read(cut)))
    assert found == {count - 1}
    written.forget()


def test_a_forked_child_lets_go_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with fs.Cluster(trace=str(path), **OPTIONS) as cluster:
        cluster.submit(square, 1).result()
        written = cluster._journal
        assert written is not None
        with warnings.catch_warnings():
            # Of forking beside threads, which is what is tried here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            is_let_go = written._file.closed
            try:
                # As at the end of the cluster's block.
                written.close()
            finally:
                os._exit(int(not is_let_go or sys.exc_info()[0] is not None))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tasks(trace.read(path)) == ["square"]
