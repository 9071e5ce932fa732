"""Shuffles that Dask does through files: each row arrives exactly once, wherever tasks run."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import partd
import pytest
from dask._task_spec import Task, TaskRef

import freestone as fs
from freestone.graph.partd_store import MemoryStore, Piece, merge
from freestone.graph.reading import read


@pytest.fixture(autouse=True)
def _by_disk() -> object:
    with dask.config.set({"dataframe.shuffle.method": "disk"}):
        yield


def frame(npartitions: int) -> Any:
    table = pd.DataFrame({"key": np.arange(4000) % 97, "value": np.arange(4000.0)})
    return dd.from_pandas(table, npartitions=npartitions)


def rows(table: pd.DataFrame) -> list[tuple[int, float]]:
    return sorted(zip(table.key.tolist(), table.value.tolist(), strict=True))


OPTIONS = [{}, {"fuse": False}, {"tree": False}, {"retain": False}, {"keep": "session"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_shuffle_keeps_every_row(cluster: fs.Cluster, options: dict[str, Any]) -> None:
    given = frame(9)
    found = given.shuffle("key").compute(scheduler=cluster.get, **options)
    assert rows(found) == rows(given.compute(scheduler="synchronous"))


def test_rows_of_a_key_are_in_one_partition(two_workers: fs.Cluster) -> None:
    shuffled = frame(9).shuffle("key")
    keys = shuffled.map_partitions(lambda part: part[["key"]].drop_duplicates(), meta={"key": int})
    found = keys.compute(scheduler=two_workers.get)
    assert sorted(found.key) == list(range(97))


def test_more_readers_than_pieces(cluster: fs.Cluster) -> None:
    shuffled = frame(5).shuffle("key", npartitions=70)
    assert any("merged" in str(key) for key in graph_of(shuffled).keys)
    assert rows(shuffled.compute(scheduler=cluster.get)) == rows(frame(5).compute())


def graph_of(collection: Any) -> Any:
    collection = collection.optimize()
    return read(collection.__dask_graph__(), collection.__dask_keys__())


def test_no_task_opens_a_folder() -> None:
    graph = graph_of(frame(3).shuffle("key"))
    assert "maybe_buffered_partd" not in {
        type(getattr(node, "func", None)).__name__ for node in graph.nodes
    }


# Dask's own way to find quantiles calls NumPy in a way that NumPy will end.
@pytest.mark.filterwarnings("ignore:Passing more than 2:DeprecationWarning")
def test_a_merge_and_a_sort(two_workers: fs.Cluster) -> None:
    other = dd.from_pandas(pd.DataFrame({"key": range(97), "w": np.arange(97.0)}), npartitions=4)
    merged = frame(6).merge(other, on="key")
    found = merged.compute(scheduler=two_workers.get)
    assert rows(found) == rows(frame(1).compute())
    assert (found.w == found.key).all()
    sorted_rows = frame(6).set_index("key").compute(scheduler=two_workers.get)
    assert sorted_rows.index.tolist() == sorted(np.arange(4000) % 97)
    assert sorted_rows.value.sum() == sum(range(4000))


def test_bags_in_groups(cluster: fs.Cluster) -> None:
    numbers = db.from_sequence(range(3000), npartitions=12)
    groups = numbers.groupby(lambda number: number % 7)
    again = groups.map(lambda group: (group[0] % 2, sum(group[1]))).groupby(operator.itemgetter(0))
    found = dict(
        groups.map(lambda group: (group[0], sorted(group[1]))).compute(scheduler=cluster.get)
    )
    assert found == {rest: list(range(rest, 3000, 7)) for rest in range(7)}
    sums = {rest: sum(range(rest, 3000, 7)) for rest in range(7)}
    found = {k: sorted(v for _, v in pairs) for k, pairs in again.compute(scheduler=cluster.get)}
    assert found == {
        odd: sorted(sums[rest] for rest in range(7) if rest % 2 == odd) for odd in (0, 1)
    }


def append_once_more(folder: Any, number: int, attempts: str) -> int:
    """Append a number, and fail after that when it is the first attempt."""
    folder.append({"numbers": [number]})
    try:
        (Path(attempts) / str(number)).touch(exist_ok=False)
    except FileExistsError:
        return number
    raise RuntimeError("after it appended")


def test_what_is_run_again_appends_once(cluster: fs.Cluster, tmp_path: Path) -> None:
    graph: dict[Any, Any] = {"folder": Task("folder", partd.Python)}
    for number in range(5):
        graph[f"w{number}"] = Task(
            f"w{number}", append_once_more, TaskRef("folder"), number, str(tmp_path)
        )
    graph["barrier"] = (sum, [f"w{number}" for number in range(5)])
    graph["end"] = (read_all, "folder", "barrier")
    assert cluster.get(graph, ["end", "barrier"], retries=5) == ([0, 1, 2, 3, 4], 10)


def read_all(folder: Any, _: int) -> list[int]:
    found: list[int] = folder.get("numbers")
    return found


def write_back(folder: Any, _: int) -> int:
    folder.append({"more": [len(folder.get("numbers"))]})
    return 0


def read_both(folder: Any, _: int) -> Any:
    return folder.get("numbers"), folder.get("more"), folder.get("none")


def append(folder: Any, number: int) -> Any:
    folder.append({"numbers": [number]})
    return folder


def test_a_task_may_read_and_append(cluster: fs.Cluster) -> None:
    graph = {
        "folder": (partd.Python,),
        "w1": (append, "folder", 1),
        "w2": (append, "folder", 2),
        "between": (write_back, "folder", (len, ["w1", "w2"])),
        "end": (read_both, "folder", "between"),
        "only one": (read_both, "folder", (type, "w2")),
    }
    assert cluster.get(graph, ["end", "only one"]) == (([1, 2], [2], []), ([2], [], []))


def test_pieces_are_put_together_in_order() -> None:
    stores = [MemoryStore() for _ in range(3)]
    for number, store in enumerate(stores):
        store.append({("a", ".x"): b"%d" % number, 5: b"five"})
        store.iset("b", b"first")
        store.iset("b", b"second")
    pieces = [store.pieces({"a": 0, "b": 0, "5": 1}) for store in stores]
    assert [sorted(one) for one in pieces] == [[0, 1]] * 3
    together = MemoryStore(merge(*(one[0] for one in pieces)), *(one[1] for one in pieces))
    assert together.get([("a", ".x"), "b", ["5", 5, "none"]]) == [
        b"012",
        b"first",
        [b"fivefivefive", b"fivefivefive", b""],
    ]
    assert MemoryStore(Piece()).pieces({}) == {}
