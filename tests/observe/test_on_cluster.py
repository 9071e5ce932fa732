"""What is shown of a real cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.cli import main
from freestone.errors import ConfigurationError
from freestone.observe import trace
from freestone.observe.progress import progress
from tests import waiting
from tests.observe.test_progress import FakeBar


def double(x: int) -> int:
    return 2 * x


def test_reprs_of_what_is_real(cluster: fs.Cluster) -> None:
    future = cluster.submit(double, 2)
    assert future.result() == 4
    assert repr(future).startswith(f"<Future 'double' {future.name[:8]}: done")
    assert repr(cluster).startswith("<Cluster: 1 worker with 2 executors")
    assert "worker-0" in cluster._repr_html_()
    assert future.name in future._repr_html_()


def test_a_bar_over_real_futures(cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = FakeBar()
    monkeypatch.setattr("freestone.observe.rich_bar.make_bar", lambda label: bar)
    futures = cluster.map(double, range(50))
    results = [future.result() for future in progress(futures, visible=True)]
    assert sorted(results) == [2 * x for x in range(50)]
    assert bar.shown[-1] == (50, 0, 50, "")
    with progress(cluster, visible=True):
        cluster.gather(cluster.map(double, range(100, 150)))
    assert bar.shown[-1][:3] == (50, 0, 50)


def test_an_explanation_of_what_waits(cluster: fs.Cluster) -> None:
    first = cluster.submit(double, 1, worker=0)
    second = cluster.submit(double, first)
    assert second.result() == 4
    assert len(str(cluster.explain(second))) > 20


def enter(lock: Any) -> None:
    with lock:
        pass


def test_an_explanation_of_what_waits_in_its_call(cluster: fs.Cluster) -> None:
    shared = {
        "lock 'disk'": cluster.lock("disk"),
        "semaphore of 1 'cpu'": cluster.semaphore("cpu", 1),
    }
    for what, lock in shared.items():
        wanted = f"has waited for the {what} for "
        with lock:
            inside = cluster.submit(enter, lock, pure=False)
            assert waiting.until(lambda inside=inside: cluster.explain(inside).pause)
            after = cluster.submit(double, inside)
            assert wanted in str(cluster.explain(inside))
            assert f", which runs on worker-0 and {wanted}" in str(cluster.explain(after))
        inside.result()


def divide(x: int) -> float:
    return 1 / x


def test_an_explanation_of_what_failed(cluster: fs.Cluster) -> None:
    future = cluster.submit(divide, 0, retries=1)
    assert isinstance(future.exception(), ZeroDivisionError)
    explanation = cluster.explain(future)
    assert (explanation.stage, explanation.attempted) == ("failed", 2)
    assert [(one.worker, one.ended) for one in explanation.attempts] == [("worker-0", "raised")] * 2
    assert all(one.start_ns >= one.sent_ns for one in explanation.attempts)
    first, second, *_ = str(explanation).splitlines()
    assert first.startswith("divide(0) failed after 2 attempts: ZeroDivisionError: ")
    assert second.startswith("  attempt 1 on worker-0")
    dependent = cluster.explain(cluster.submit(divide, future))
    assert str(dependent).startswith("divide was not called")


def test_workers_tell_their_figures_at_once(cluster: fs.Cluster) -> None:
    kept = cluster.put(bytes(1 << 20))
    assert cluster.submit(len, kept).result() == 1 << 20
    assert waiting.until(lambda: cluster.statistics().workers[0].status.memory_nbytes > 1 << 20)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_trace_is_written_when_it_closes(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    with fs.Cluster(executors=1, memory="64MiB", disk="1GiB", trace=str(path)) as cluster:
        futures = cluster.map(double, range(10))
        cluster.gather(futures)
    records = trace.read(path)
    found = trace.summary(records)
    assert found.labels["double"].attempts == 10
    assert found.joined == 1
    assert "double: 10 attempts" in str(found)
    tasks = [record for record in records if record["kind"] == "task"]
    assert {record["name"] for record in tasks} == {future.name for future in futures}
    first = tasks[0]
    assert (first["worker"], first["ended"], first["attempt"]) == ("worker-0", "done", 1)
    assert first["sent_ns"] <= first["start_ns"] - first["opening_ns"]
    assert min(first["opening_ns"], first["storing_ns"]) > 0
    (joined,) = (record for record in records if record["kind"] == "joined")
    assert joined.keys() == {"kind", "worker", "at_ns", "slots"}
    assert joined["slots"] == 1


def test_a_trace_that_cant_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"must end in \.parquet"):
        fs.Cluster(executors=1, trace=str(tmp_path / "run.csv"))


def test_status_finds_it(cluster: fs.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--json", "--cluster", cluster.address]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["pid"] == os.getpid()
    assert len(found["status"]["statistics"]["workers"]) == 1
