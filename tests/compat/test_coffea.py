"""Coffea's `Runner` on a cluster gives what its own executors give."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.waiting import until

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
pytest.importorskip("coffea")

import hist  # noqa: E402
import uproot  # noqa: E402
from coffea import processor  # noqa: E402
from coffea.nanoevents import BaseSchema  # noqa: E402
from coffea.processor.executor import FileMeta, WorkItem  # noqa: E402

from freestone.compat.coffea import FreestoneExecutor  # noqa: E402

ROWS = 1000


@pytest.fixture(scope="module")
def fileset(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two data sets, one of two files, with whole numbers so that sums are exact in any order."""
    folder = tmp_path_factory.mktemp("coffea")
    paths = []
    for k in range(3):
        paths.append(str(folder / f"{k}.root"))
        with uproot.recreate(paths[-1]) as file:
            file["Events"] = {"mass": np.arange(k * ROWS, (k + 1) * ROWS) % 91}
    return {"signal": {"files": paths[:2]}, "background": {"files": paths[2:]}}


class Masses(processor.ProcessorABC):  # type: ignore[misc]
    """Fills a histogram, counts events, and notes where each chunk began."""

    def __init__(self, bad: int | None = None) -> None:
        self.bad = bad

    def process(self, events: Any) -> Any:
        if events.metadata["entrystart"] == self.bad:
            raise ZeroDivisionError("a bad chunk")
        masses = hist.Hist.new.StrCat([], name="of", growth=True).Reg(10, 0, 100, name="mass")
        filled = masses.Int64().fill(of=events.metadata["dataset"], mass=events.mass)
        return {
            "masses": filled,
            "count": {events.metadata["dataset"]: len(events)},
            "starts": [events.metadata["entrystart"]],
            "sum": np.bincount(np.asarray(events.mass), minlength=100_000),
        }

    def postprocess(self, accumulator: Any) -> None:
        accumulator["sum"] //= 2


def runner(executor: Any) -> Any:
    return processor.Runner(
        executor=executor, schema=BaseSchema, chunksize=100, format="root", savemetrics=False
    )


@pytest.fixture(scope="module")
def expected(fileset: dict[str, Any]) -> Any:
    return runner(processor.IterativeExecutor(status=False))(fileset, Masses(), treename="Events")


@pytest.mark.parametrize("arity", [2, 8])
def test_a_runner_gives_what_it_gives_elsewhere(
    cluster: fs.Cluster, fileset: dict[str, Any], expected: Any, arity: int
) -> None:
    run = runner(FreestoneExecutor(arity=arity, commutes=False))
    found = run(fileset, Masses(), treename="Events")
    assert found["count"] == expected["count"] == {"signal": 2 * ROWS, "background": ROWS}
    assert found["starts"] == expected["starts"]
    assert len(found["starts"]) == 30
    assert found["masses"] == expected["masses"]
    np.testing.assert_array_equal(found["sum"], expected["sum"])


def test_results_are_merged_as_they_come(
    two_workers: fs.Cluster, fileset: dict[str, Any], expected: Any
) -> None:
    before = two_workers.statistics().done
    run = runner(FreestoneExecutor(two_workers, arity=4))
    found = run(fileset, Masses(), treename="Events")
    assert found["masses"].sum() == expected["masses"].sum() == 3 * ROWS
    assert sorted(found["starts"]) == sorted(expected["starts"])
    # Three files are looked at and thirty chunks read; the other calls merge what they gave.
    assert two_workers.statistics().done - before > 3 + 30


def test_a_chunk_that_fails_ends_the_run(cluster: fs.Cluster, fileset: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="a bad chunk"):
        runner(FreestoneExecutor(retries=0))(fileset, Masses(bad=300), treename="Events")
    assert until(lambda: cluster.statistics().pending == 0)


def test_others_than_a_chunk_that_fails_are_recovered(
    cluster: fs.Cluster, fileset: dict[str, Any]
) -> None:
    run = runner(FreestoneExecutor(retries=0, recoverable=True))
    with pytest.raises(Exception, match="a bad chunk") as caught:
        run(fileset, Masses(bad=300), treename="Events")
    rest: Any = caught.value
    assert rest.partial_output["count"] == {"signal": 2 * (ROWS - 100), "background": ROWS - 100}


class Broken(processor.ProcessorABC):  # type: ignore[misc]
    """Fails with every chunk."""

    def process(self, events: Any) -> Any:
        raise LookupError(f"no muons in {events.metadata['dataset']}")

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def test_what_fails_with_every_chunk_is_not_hidden(
    cluster: fs.Cluster, fileset: dict[str, Any]
) -> None:
    run = runner(FreestoneExecutor(retries=0, recoverable=True))
    with pytest.raises(Exception, match="no muons in"):
        run(fileset, Broken(), treename="Events")


def test_a_later_run_finds_the_results_of_chunks(
    cluster: fs.Cluster, fileset: dict[str, Any], expected: Any
) -> None:
    executor = FreestoneExecutor(options={"keep": "session"})
    first = runner(executor)(fileset, Masses(), treename="Events")
    before = cluster.statistics()
    second = runner(executor)(fileset, Masses(), treename="Events")
    assert second["masses"] == first["masses"] == expected["masses"]
    # The three files were not looked at again, nor the chunks read.
    assert cluster.statistics().done - before.done < 3 + 30


def test_a_file_that_was_written_again_is_read_again(cluster: fs.Cluster, tmp_path: Path) -> None:
    path = str(tmp_path / "again.root")
    found = []
    for rows in (10, 700):
        with uproot.recreate(path) as file:
            file["Events"] = {"mass": np.arange(rows) % 91}
        run = processor.Runner(
            executor=FreestoneExecutor(options={"keep": "session"}),
            schema=BaseSchema,
            chunksize=250,
            savemetrics=False,
            metadata_cache={},
        )
        found.append(run({"d": [path]}, Masses(), treename="Events")["count"])
    assert found == [{"d": 10}, {"d": 700}]


def test_what_does_not_say_whether_it_changed_is_read_by_each_run(cluster: fs.Cluster) -> None:
    """A remote file has no version before it is looked at, and a Parquet file not even then."""
    url = "root://nowhere//a.root"
    file = FileMeta("d", url, "Events")
    chunk = WorkItem("d", url, "Events", 0, 10, uuid.uuid4().bytes)
    path = WorkItem("d", url, "Events", 0, 10, hashlib.md5(url.encode()).digest())
    executor = FreestoneExecutor(options={"keep": "session"})
    for item, is_kept in ((chunk, True), (file, False), (path, False)):
        first, second = (executor([item], look, None)[0] for _ in range(2))
        assert (first == second) is is_kept


def look(item: Any) -> list[str]:
    """Return what differs each time that it is called."""
    return [uuid.uuid4().hex]


def test_without_a_cluster_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.client.opened._open", {})
    with pytest.raises(errors.UsageError, match="no cluster is open"):
        FreestoneExecutor()([1], abs, None)


def test_without_chunks_there_is_nothing_to_merge() -> None:
    assert FreestoneExecutor()([], abs, {"a": 1}) == {"a": 1}
