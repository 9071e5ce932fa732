"""Custom resources of workers: calls run where they are, and hold them while they run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs
from freestone import errors
from freestone.config import Config
from tests.waiting import until

from .conftest import Opened


@pytest.fixture(scope="module")
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    """Two executors and one licence."""
    with opened(executors=2, memory="64MiB", resources={"licence": 1}) as cluster:
        yield cluster


def claim(folder: str, number: int) -> None:
    """Fail if another call holds the licence."""
    (Path(folder) / "held").mkdir()
    (Path(folder) / f"ran-{number}").touch()
    (Path(folder) / "held").rmdir()


def test_calls_share_a_licence(cluster: fs.Cluster, tmp_path: Path) -> None:
    task = fs.task(resources={"licence": 1}, pure=False)(claim)
    cluster.gather(task.map([str(tmp_path)] * 50, range(50)))
    assert len(list(tmp_path.iterdir())) == 50


def wait_for(path: str) -> str:
    until(Path(path).exists)
    return path


def test_others_run_beside_one_that_holds_it(cluster: fs.Cluster, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("first", "second")]
    first, second = cluster.map(wait_for, paths, resources={"licence": 1})
    assert cluster.gather(cluster.map(abs, range(-30, 0))) == list(range(30, 0, -1))
    assert until(lambda: cluster.explain(second).lacking == ("licence",))
    assert "other tasks hold all of 'licence'" in str(cluster.explain(second))
    for path in paths:
        Path(path).touch()
    assert cluster.gather([first, second]) == paths


def test_one_that_waits_for_its_own_calls_keeps_it(cluster: fs.Cluster, tmp_path: Path) -> None:
    def parent(folder: str) -> int:
        (Path(folder) / "held").mkdir()
        here = fs.current()
        assert here is not None
        made = here.submit(abs, -7, pure=False).result()
        (Path(folder) / "held").rmdir()
        return made

    futures = cluster.map(parent, [str(tmp_path)] * 6, resources={"licence": 1}, pure=False)
    assert cluster.gather(futures) == [7] * 6


def test_one_that_no_worker_has_is_named(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.UnschedulableError, match="'licnce'; did you mean 'licence'") as one:
        cluster.submit(abs, -1, resources={"licnce": 1}).result()
    assert (one.value.needs["licnce"], one.value.largest["licence"]) == (1, 1)
    with pytest.raises(errors.UnschedulableError, match=r"give workers some by Cluster\(resou"):
        cluster.submit(abs, -1, resources={"tape": 1}).result()
    with pytest.raises(errors.UnschedulableError, match=r"needs 2 licence .* at most 1 licence"):
        cluster.submit(abs, -1, resources={"licence": 2}).result()


@pytest.mark.parametrize(
    "given",
    [{"cores": 1}, {"gpu": 1}, {"": 1}, {"a b": 1}, {"a": -1}, {"a": 1.5}, {"a": True}, "a", 3],
)
def test_what_is_no_resource_is_refused(given: object) -> None:
    with pytest.raises(errors.ConfigurationError, match="resources is"):
        Config.load({"resources": given})


def test_they_come_from_the_environment() -> None:
    config = Config.load({}, {"FREESTONE_RESOURCES": "licence=2, tape=1"})
    assert config.resources == "licence=2,tape=1"


def test_none_of_a_resource_is_free_of_it(cluster: fs.Cluster) -> None:
    assert cluster.submit(abs, -3, resources={"tape": 0}).result() == 3


def test_statistics_show_them(cluster: fs.Cluster) -> None:
    assert cluster.statistics().workers[0].resources["licence"] == 1
    # What calls had comes back when their workers have heard of their end.
    assert until(lambda: "0 of 1 licence" in cluster.statistics()._repr_html_())
