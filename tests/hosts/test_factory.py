"""The factory: what it decides, and workers that it starts for real."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.errors import ClusterStartError, UsageError
from freestone.hosts.access import Access
from freestone.hosts.batch import SubmitBatch
from freestone.hosts.factory import Factory
from tests.waiting import until

from .conftest import FREESTONE, count


@dataclass
class Queue:
    """A batch system that does what it is told."""

    submitted: int = 0

    def submit(self, count: int) -> None:
        self.submitted += count

    def jobs(self) -> int:
        return self.submitted

    def close(self) -> None:
        self.submitted = 0


@dataclass
class Retired:
    queue: Queue
    numbers: list[int] = field(default_factory=list)

    def __call__(self, number: int) -> None:
        self.numbers.append(number)


def figures(tasks: int, workers: list[dict[str, Any]]) -> dict[str, Any]:
    return {"waiting": 0, "ready": tasks, "assigned": 0, "workers": workers}


def worker(number: int, assigned: int = 0, nbytes: int = 0) -> dict[str, Any]:
    return {"worker": f"worker-{number}", "slots": 2, "assigned": assigned, "nbytes": nbytes}


def factory(least: int = 1, most: int = 4) -> tuple[Factory, Queue, Retired]:
    queue = Queue()
    retired = Retired(queue)
    return Factory(queue, retired, least, most, executors=2, patience_s=10), queue, retired


def test_there_are_as_many_as_the_work_is_worth_between_the_bounds() -> None:
    keeper, queue, _ = factory()
    assert keeper.look(figures(0, []), 0).submitted == 1
    assert keeper.look(figures(5, []), 1).submitted == 2
    assert keeper.look(figures(500, []), 2).submitted == 1
    assert keeper.look(figures(500, []), 3).submitted == 0
    assert queue.jobs() == 4


def test_spare_ones_are_let_go_after_a_while_the_emptiest_first() -> None:
    keeper, _, retired = factory()
    there = [worker(0), worker(1, nbytes=9), worker(2, assigned=1), worker(3, nbytes=5)]
    keeper.look(figures(8, []), 0)
    assert keeper.look(figures(4, there), 1).retired == ()
    assert keeper.look(figures(4, there), 10.9).retired == ()
    assert keeper.look(figures(4, there), 11).retired == (0, 3)
    assert retired.numbers == [0, 3]
    # Those that leave are not counted, and not let go again.
    assert keeper.look(figures(4, there), 30).retired == ()


def test_only_workers_of_its_own_jobs_are_let_go() -> None:
    keeper, _, retired = factory()
    keeper.look(figures(4, [worker(0)]), 0)
    # Two are jobs; the third, which somebody started by hand, is one more than were handed in.
    there = [worker(0), worker(3, nbytes=9), worker(4, nbytes=9), worker(5)]
    keeper.look(figures(4, there), 1)
    keeper.look(figures(0, there), 2)
    assert keeper.look(figures(0, there), 13).retired == (3,)
    assert retired.numbers == [3]


def test_one_that_the_cluster_keeps_still_counts() -> None:
    keeper, _, retired = factory()
    there = [worker(1), worker(2)]
    keeper.look(figures(4, []), 0)
    keeper.look(figures(0, there), 1)

    def refuse(number: int) -> None:
        raise UsageError(f"worker-{number} can't be retired")

    keeper.retire = refuse
    assert keeper.look(figures(0, there), 12).retired == ()
    keeper.retire = retired
    plan = keeper.look(figures(0, there), 23)
    assert (plan.jobs, plan.retired) == (2, (1,))


def test_a_short_lull_lets_nobody_go() -> None:
    keeper, _, retired = factory()
    there = [worker(0), worker(1)]
    keeper.look(figures(4, []), 0)
    keeper.look(figures(0, there), 1)
    keeper.look(figures(4, there), 10)
    keeper.look(figures(0, there), 11)
    assert keeper.look(figures(0, there), 20).retired == ()
    assert retired.numbers == []


def test_where_jobs_are_not_counted_those_that_left_are_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    batch = SubmitBatch(tmp_path / "access.json", [], f"echo {{command}} >> {log}")
    keeper = Factory(batch, lambda _: None, 2, 4)
    assert keeper.look(figures(0, []), 0).submitted == 2
    assert keeper.look(figures(0, [worker(0), worker(1)]), 1).submitted == 0
    assert keeper.look(figures(0, [worker(1)]), 2).submitted == 1
    assert log.read_text().count("worker --quiet --access") == 3


def submitting(folder: Path, patience_s: float = 10) -> Factory:
    batch = SubmitBatch(folder / "access.json", [], "true {command}")
    return Factory(batch, lambda _: None, 2, 4, patience_s=patience_s)


def test_jobs_that_end_before_they_join_are_replaced_ever_more_slowly(tmp_path: Path) -> None:
    keeper = submitting(tmp_path)
    seen = []
    for now in range(80):
        plan = keeper.look(figures(0, []), now)
        if plan.submitted:
            seen.append((now, plan.submitted, plan.lost))
    assert seen == [(0, 2, 0), (10, 2, 2), (30, 2, 2), (70, 2, 2)]
    # One that joins shows that jobs do come: patience is what it was.
    assert keeper.look(figures(0, [worker(0)]), 80).submitted == 0
    assert keeper.look(figures(0, [worker(0)]), 89).jobs == 2
    assert keeper.look(figures(0, [worker(0)]), 90).lost == 1


def test_a_job_that_joins_late_counts_again(tmp_path: Path) -> None:
    keeper = submitting(tmp_path)
    keeper.look(figures(0, []), 0)
    assert keeper.look(figures(0, []), 10).lost == 2
    there = [worker(number) for number in range(4)]
    assert keeper.look(figures(0, there), 11).jobs == 4
    assert keeper.look(figures(0, there), 21).retired == (0, 1)


def test_one_that_leaves_while_another_joins_is_replaced(tmp_path: Path) -> None:
    keeper = submitting(tmp_path)
    keeper.look(figures(0, []), 0)
    assert keeper.look(figures(0, [worker(0)]), 1).jobs == 2
    assert keeper.look(figures(0, [worker(1)]), 2).submitted == 1


def test_workers_that_are_no_jobs_are_not_counted(tmp_path: Path) -> None:
    keeper = submitting(tmp_path)
    assert keeper.look(figures(0, [worker(0)]), 0).submitted == 2
    assert keeper.look(figures(0, [worker(0), worker(1)]), 1).jobs == 2
    assert keeper.look(figures(0, [worker(0)]), 2).submitted == 1


def test_a_submit_line_without_the_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClusterStartError, match=r"\{command\}"):
        SubmitBatch(tmp_path, [], "qsub job.sh")


def test_a_submit_line_that_fails_is_reported(tmp_path: Path) -> None:
    batch = SubmitBatch(tmp_path, [], "echo no such queue >&2; false {command}")
    with pytest.raises(ClusterStartError, match="no such queue"):
        batch.submit(1)


@pytest.mark.parametrize("how", [["--batch", "local"], ["--submit", "{command} &"]])
def test_a_factory_serves_a_cluster_until_it_ends(
    cluster: fs.Cluster, tmp_path: Path, how: list[str]
) -> None:
    words = ["factory", "--json", "--cluster", cluster.address, "--max", "2", "--every", "0.05"]
    words += ["--memory", "64MiB", "--disk", "64MiB", "--folder", str(tmp_path), *how]
    keeper = subprocess.Popen([*FREESTONE, *words], stdout=subprocess.PIPE, text=True)
    try:
        futures = cluster.map(abs, range(-100, 0))
        assert cluster.gather(futures) == list(range(100, 0, -1))
        assert 1 <= count(cluster) <= 2
        cluster.close()
        output, _ = keeper.communicate(timeout=60)
    finally:
        keeper.kill()
    assert keeper.returncode == 0
    assert json.loads(output.partition("}")[0] + "}")["submitted"] >= 1
    assert list(tmp_path.iterdir()) == []


def test_sigterm_ends_a_factory_and_its_workers(cluster: fs.Cluster, tmp_path: Path) -> None:
    words = ["factory", "--quiet", "--cluster", cluster.address, "--min", "1", "--max", "1"]
    words += ["--batch", "local", "--memory", "64MiB", "--disk", "64MiB", "--folder", str(tmp_path)]
    keeper = subprocess.Popen([*FREESTONE, *words])
    try:
        assert until(lambda: count(cluster) == 1)
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(60) == 0
        assert until(lambda: count(cluster) == 0)
    finally:
        keeper.kill()


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        (["--min", "3", "--max", "2"], "--min 3 and --max 2"),
        (["--max", "0"], "--max 0 keeps no worker"),
    ],
)
def test_bounds_that_keep_no_workers_are_reported(bounds: list[str], problem: str) -> None:
    words = [*FREESTONE, "factory", *bounds]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert problem in done.stderr


def test_slurm_needs_a_cluster_that_listens(tmp_path: Path) -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        assert Access.read(cluster.access).identity is None
        words = ["factory", "--cluster", cluster.address, "--max", "1", "--folder", str(tmp_path)]
        done = subprocess.run(
            [*FREESTONE, *words], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert "listen='tcp://HOST:0'" in done.stderr
