"""Slices of blocks: cut by the calls that need them, where all blocks are on one worker."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import DataNode, Task, TaskRef
from dask.array.chunk import getitem
from dask.array.core import concatenate_shaped
from dask.core import flatten
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.held import held_in
from freestone.errors import CycleError, MissingKeyError
from freestone.graph.reading import Graph, read, specs_of
from freestone.graph.views import part_of_whole
from tests.collections.cut_arrays import PROPERTY

CUBE = np.arange(12 * 9 * 4.0).reshape(12, 9, 4)
BOUNDS = st.one_of(st.none(), st.integers(-12, 14))
INDEX = st.lists(st.builds(slice, BOUNDS, BOUNDS), min_size=1, max_size=3).map(tuple)


@PROPERTY
@given(INDEX, st.integers(1, 5), st.integers(1, 9))
def test_a_part_of_joined_blocks(index: Any, rows: int, columns: int) -> None:
    grid = da.from_array(CUBE, chunks=(rows, columns, 4))
    arrays = [CUBE[one] for one in da.core.slices_from_chunks(grid.chunks)]
    found = part_of_whole(arrays, grid.numblocks, index)
    np.testing.assert_array_equal(found, CUBE[index])
    np.testing.assert_array_equal(found, concatenate_shaped(arrays, grid.numblocks)[index])


def test_a_part_of_blocks_of_several_types_has_the_type_of_the_whole() -> None:
    arrays, index = [np.ones(3, np.int8), np.ones(2)], (slice(3, 5),)
    whole = concatenate_shaped(arrays, (2,))
    assert part_of_whole(arrays, (2,), index).dtype == whole.dtype


def held(cluster: fs.Cluster) -> Any:
    return da.from_array(CUBE, chunks=(2, 9, 4)).persist(scheduler=cluster.get)


def rechunked(x: Any, steps: int) -> Any:
    """Make blocks of columns, as Dask does of many blocks: by larger ones first."""
    with dask.config.set({"array.rechunk.threshold": 100}):
        return (x.rechunk((6, 9, 4)) if steps > 1 else x).rechunk((12, 3, 1))


def nodes_of(x: Any) -> Graph:
    """Read the graph of a collection of blocks as a cluster of one worker does."""
    (x,) = dask.optimize(x)
    specs = specs_of(x.__dask_graph__())
    blocks = [block for block in map(held_in, specs.values()) if block is not None]
    return read(specs, flatten(x.__dask_keys__()), client=blocks[0].client, has_views=True)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_rechunk_makes_nothing_but_its_blocks(cluster: fs.Cluster, steps: int) -> None:
    x = held(cluster)
    made = rechunked(x, steps)
    graph = nodes_of(made)
    assert all(need < x.npartitions for found in graph.needs for need in found)
    assert len(graph.nodes) - len(graph.held) == made.npartitions
    np.testing.assert_array_equal(made.compute(scheduler=cluster.get), CUBE)
    np.testing.assert_array_equal(made.sum(axis=0).compute(scheduler=cluster.get), CUBE.sum(0))


def test_what_is_asked_for_and_wholes_that_others_need_are_made(cluster: fs.Cluster) -> None:
    x = held(cluster)
    part = x[3:7, 2:5]
    found = dask.compute(part, part + 1, scheduler=cluster.get)
    np.testing.assert_array_equal(found[0], CUBE[3:7, 2:5])
    np.testing.assert_array_equal(found[1], CUBE[3:7, 2:5] + 1)
    whole = x.rechunk((12, 9, 4))
    graph = nodes_of(da.stack([whole[:, :2].sum(), whole.sum()]))
    joins = [n for n in graph.nodes if getattr(n, "func", None) is concatenate_shaped]
    assert len(joins) == 1
    made = da.stack([whole[:, :2].sum(), whole.sum()]).compute(scheduler=cluster.get)
    np.testing.assert_array_equal(made, [CUBE[:, :2].sum(), CUBE.sum()])


def test_a_value_that_several_tasks_cut_is_made_once_and_cut_by_them(cluster: fs.Cluster) -> None:
    x = held(cluster) + 1
    parts = [x[:, at : at + 3] for at in range(0, 9, 3)]
    made = da.stack([part.sum(axis=(0, 1)) * part.sum(axis=(0, 1)).max() for part in parts])
    graph = nodes_of(made)
    assert not any(getattr(n, "func", None) is getitem for n in graph.nodes)
    expected = [(CUBE[:, a : a + 3] + 1).sum(axis=(0, 1)) for a in range(0, 9, 3)]
    found = made.compute(scheduler=cluster.get)
    np.testing.assert_array_equal(found, [one * one.max() for one in expected])


def test_a_slice_that_alone_needs_a_value_is_cut_where_the_value_is_made(
    cluster: fs.Cluster,
) -> None:
    graph = {
        "value": Task("value", np.ones, (4, 3)),
        "part": Task("part", getitem, TaskRef("value"), (slice(0, 1),)),
        "sum": Task("sum", np.sum, TaskRef("part")),
    }
    assert not read(graph, ["sum"], client=cluster, has_views=True).views
    assert cluster.get(graph, "sum") == 3


def take_sum(rows: Any, many: Any) -> Any:
    return many[rows[1]].sum()


def test_small_constants_are_no_tasks(cluster: fs.Cluster) -> None:
    graph = {
        "rows": DataNode("rows", (1, np.array([0, 2]))),
        "many": DataNode("many", np.arange(1000)),
        "sum": Task(
            "sum", lambda rows, many: many[rows[1]].sum(), TaskRef("rows"), TaskRef("many")
        ),
    }
    found = read(graph, ["sum"], client=cluster, has_views=True)
    assert [*found.views] == ["rows"]
    assert cluster.get(graph, ["sum", "rows"])[0] == 2


def test_slices_of_each_other_are_reported_and_long_chains_of_them_run(cluster: fs.Cluster) -> None:
    part = (slice(0, None),)
    chain: dict[Any, Any] = {0: Task(0, np.arange, 5)}
    for at in range(1, 2000):
        chain[at] = Task(at, getitem, TaskRef(at - 1), part)
        chain["sum", at] = Task(("sum", at), np.sum, TaskRef(at))
    assert cluster.get(chain, [("sum", 1), ("sum", 1999)]) == (10, 10)
    chain[0] = Task(0, getitem, TaskRef(1), part)
    with pytest.raises(CycleError):
        cluster.get(chain, [("sum", 1), ("sum", 2)])


@pytest.mark.parametrize("steps", [1, 2])
def test_several_workers_send_slices_and_no_whole_blocks(
    two_workers: fs.Cluster, steps: int
) -> None:
    x = held(two_workers)
    made = rechunked(x, steps).compute(scheduler=two_workers.get)
    np.testing.assert_array_equal(made, CUBE)


def test_retained_results_have_the_same_names_on_any_number_of_workers(
    cluster: fs.Cluster,
) -> None:
    made = rechunked(held(cluster), 1)
    for _ in range(2):
        before = cluster.statistics().done
        found = made.compute(scheduler=cluster.get, keep="session")
        np.testing.assert_array_equal(found, CUBE)
    assert cluster.statistics().done == before


def test_a_missing_key_is_named_with_the_task_that_needs_it(cluster: fs.Cluster) -> None:
    graph = {
        "part": Task("part", getitem, TaskRef("gone"), (slice(0, 1),)),
        "sum": Task("sum", np.sum, TaskRef("part")),
    }
    with pytest.raises(MissingKeyError, match="gone"):
        cluster.get(graph, "sum")


def test_slices_inside_fused_tasks_are_cut_by_them(cluster: fs.Cluster) -> None:
    x = held(cluster)
    with dask.config.set({"array.rechunk.threshold": 1}):
        made = x.rechunk((12, 9, 4)).rechunk((12, 3, 1)).map_blocks(np.negative)
    graph = nodes_of(made)
    assert len(graph.nodes) - len(graph.held) == made.npartitions
    np.testing.assert_array_equal(made.compute(scheduler=cluster.get), -CUBE)
