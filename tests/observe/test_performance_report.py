"""Reports of a part of a program, and who gets the records that they are made of."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

import freestone as fs
from freestone.errors import ClosedError, UsageError
from freestone.observe import trace
from freestone.observe.columns import records
from freestone.observe.recorder import Watch
from tests.observe.test_dashboard import OPTIONS, ask, fail, square


def attempts(path: Path) -> dict[str, int]:
    """Return how many attempts a report counts, by function."""
    durations = path.read_text("utf-8").partition('id="durations"')[2].partition('id="memory"')[0]
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([\d,]+)</td>', durations)
    return {label: int(count.replace(",", "")) for label, count in rows}


def names(watch: Watch) -> set[str]:
    found = [record for rows, columns in watch.take() for record in records(rows, columns)]
    return {record["name"] for record in found if record["kind"] == "task"}


def cube(x: int) -> int:
    return x**3


def test_it_has_what_ran_in_the_block_and_nothing_else(cluster: fs.Cluster, tmp_path: Path) -> None:
    cluster.gather(cluster.map(square, range(5)))
    path = tmp_path / "new" / "cubes.html"
    with fs.performance_report(path, title="<cubes>"):
        cluster.gather(cluster.map(cube, range(300)))
    cluster.gather(cluster.map(square, range(5, 9)))
    assert attempts(path) == {"cube": 300}
    page = path.read_text("utf-8")
    assert "<h1>&lt;cubes&gt;</h1>" in page
    assert "worker-0" in page
    assert "No worker told what it holds" not in page


def test_it_is_written_when_the_block_raises(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert cluster.submit(fail, 1, name="before").exception() is not None
    with pytest.raises(ZeroDivisionError), fs.performance_report(path, cluster=cluster):
        cluster.submit(fail, cluster.submit(cube, 1000)).result()
    assert attempts(path) == {"cube": 1, "fail": 1}
    (failed,) = re.findall(r"<details>(.*?)</details>", path.read_text("utf-8"), re.DOTALL)
    assert failed.startswith("<summary><b>fail</b> raised ZeroDivisionError: ")
    assert "in fail" in failed, "its traceback"


def test_a_cluster_may_end_in_the_block(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with fs.Cluster(**OPTIONS) as cluster, fs.performance_report(path):
        cluster.gather(cluster.map(cube, range(7)))
        cluster.close()
    assert attempts(path) == {"cube": 7}
    with pytest.raises(ClosedError), fs.performance_report(path, cluster=cluster):
        pass


def test_blocks_may_lie_in_one_another_beside_a_page_and_a_trace(tmp_path: Path) -> None:
    inner, outer, run = tmp_path / "inner.html", tmp_path / "outer.html", tmp_path / "run.jsonl"
    with fs.Cluster(**OPTIONS, trace=str(run)) as cluster:
        link = str(cluster.dashboard_link)
        cluster.submit(square, 1).result()
        assert ask(link, "data/timeline").json["observed_s"] == 0
        with fs.performance_report(outer):
            cluster.submit(cube, 1).result()
            with fs.performance_report(inner):
                cluster.submit(cube, 2).result()
            cluster.submit(cube, 3).result()
        assert (attempts(inner), attempts(outer)) == ({"cube": 1}, {"cube": 3})
        assert ask(link, "data/timeline").json["count"] == 4
    tasks = [record for record in trace.read(run) if record["kind"] == "task"]
    assert [task["label"] for task in tasks] == ["square", "cube", "cube", "cube"]


def test_each_that_watches_has_all_and_the_last_ends_the_recording() -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        recorder, manager = cluster.client.recorder, cluster.client.manager
        first = recorder.watch()
        one = cluster.submit(cube, 1)
        one.result()
        second = recorder.watch()
        two = cluster.submit(cube, 2)
        two.result()
        assert names(second) == {two.name}
        second.stop()
        assert names(first) == {one.name, two.name}
        first.stop()
        cluster.submit(cube, 3).result()
        assert manager.take_columns() == []


def test_of_what_is_not_taken_the_last_is_kept() -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        watch = cluster.client.recorder.watch(limit=3)
        futures = []
        for x in range(5):
            futures.append(cluster.submit(cube, x))
            futures[-1].result()
            cluster.client.recorder.poll()
        kept = names(watch)
        assert futures[4].name in kept
        assert len(kept) <= 3


def test_there_must_be_a_cluster_of_this_process(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with fs.Cluster(**OPTIONS) as served, fs.connect(served.access) as connected:
        refused = pytest.raises(UsageError, match="another process serves")
        with refused, fs.performance_report(path, cluster=connected):
            pass
    assert not path.exists()


def test_its_thread_ends_with_the_block(cluster: fs.Cluster, tmp_path: Path) -> None:
    with fs.performance_report(tmp_path / "report.html", cluster=cluster):
        pass
    assert "freestone-performance-report" not in {thread.name for thread in threading.enumerate()}
