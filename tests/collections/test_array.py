"""Arrays against NumPy, with and without a cluster."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import freestone as fs
from freestone.collections.rechunking import overlaps

QUICK = settings(max_examples=15, deadline=None)
CUTS = st.lists(st.integers(0, 200), max_size=12)


def offsets_within(cuts: list[int], rows: int) -> NDArray[np.int64]:
    return np.array(sorted({0, rows, *(cut % (rows + 1) for cut in cuts)}), np.int64)


def numbers(start: int, stop: int) -> NDArray[np.float64]:
    return np.arange(start * 3, stop * 3, dtype=float).reshape(-1, 3)


def test_blocks_are_made_on_workers_and_stay_there(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function((100, 3), 7, numbers).persist()
    assert (x.shape, x.dtype, x.block_rows, len(x.blocks)) == ((100, 3), np.dtype(float), 7, 15)
    assert x.offsets.tolist() == [*range(0, 100, 7), 100]
    # Small blocks, too, lie with workers and not with the manager.
    assert all(len(workers) == 1 for workers in x.where())
    assert x.nbytes >= 100 * 3 * 8
    np.testing.assert_array_equal(x.compute(), numbers(0, 100))
    np.testing.assert_array_equal(np.concatenate(list(x.iter_blocks())), numbers(0, 100))


@QUICK
@given(
    rows=st.integers(1, 200), cuts=CUTS, start=st.integers(-250, 250), stop=st.integers(-250, 250)
)
def test_slices_are_those_of_numpy(
    two_workers: fs.Cluster, rows: int, cuts: list[int], start: int, stop: int
) -> None:
    whole = numbers(0, rows)
    x = fs.Array.from_numpy(whole, offsets_within(cuts, rows))
    part = x[start:stop]
    assert part.shape == whole[start:stop].shape
    np.testing.assert_array_equal(part.compute(), whole[start:stop])
    np.testing.assert_array_equal(part.rechunk(11).compute(), whole[start:stop])


def test_to_slice_calls_nothing_and_moves_nothing() -> None:
    # A cluster of its own: on a shared one, blocks of earlier tests are dropped in between.
    with fs.Cluster(workers=2) as cluster:
        x = fs.Array.from_function((1000, 3), 70, numbers).persist()
        before = cluster.statistics()
        part = x[10:960][5:].persist()
        after = cluster.statistics()
        for figure in ("done", "pending", "blocks", "transferred_nbytes"):
            assert getattr(after, figure) == getattr(before, figure), figure
        np.testing.assert_array_equal(part.compute(), numbers(15, 960))


@QUICK
@given(rows=st.integers(1, 200), old=CUTS, new=CUTS)
def test_rechunk_gives_the_same_rows(
    two_workers: fs.Cluster, rows: int, old: list[int], new: list[int]
) -> None:
    x = fs.Array.from_function((rows, 3), offsets_within(old, rows), numbers)
    y = x.rechunk(offsets_within(new, rows))
    np.testing.assert_array_equal(y.offsets, offsets_within(new, rows))
    np.testing.assert_array_equal(y.compute(), numbers(0, rows))


@settings(deadline=None)
@given(rows=st.integers(1, 300), old=CUTS, new=CUTS)
def test_overlaps_cover_each_row_once(rows: int, old: list[int], new: list[int]) -> None:
    before, after = offsets_within(old, rows), offsets_within(new, rows)
    for number, parts in enumerate(overlaps(before, after)):
        found = np.concatenate([before[p.block] + np.arange(p.start, p.stop) for p in parts])
        np.testing.assert_array_equal(found, np.arange(after[number], after[number + 1]))
        sizes = np.diff(before)
        assert all(part.whole == (part.stop - part.start == sizes[part.block]) for part in parts)


def test_rechunk_moves_only_the_rows_that_are_needed(two_workers: fs.Cluster) -> None:
    def block(start: int, stop: int) -> NDArray[np.float64]:
        return np.arange(start, stop, dtype=float)

    halves = [
        two_workers.submit(block, 0, 100_000, worker=0),
        two_workers.submit(block, 100_000, 200_000, worker=1),
    ]
    x = fs.Array.from_futures(halves, rows=[100_000, 100_000]).persist()
    before = two_workers.statistics().transferred_nbytes
    cost = x.rechunk_cost([0, 101_000, 200_000])
    assert two_workers.statistics().transferred_nbytes == before
    y = x.rechunk([0, 101_000, 200_000]).persist()
    moved = two_workers.statistics().transferred_nbytes - before
    assert 8_000 <= moved < 40_000
    # Files of blocks have a header besides their rows.
    assert cost.moved_nbytes == pytest.approx(8_000, abs=100)
    assert cost.copied_nbytes == pytest.approx(1_600_000, abs=1_000)
    assert cost.peak_nbytes == pytest.approx(800_000 + 808_000, abs=1_000)
    np.testing.assert_array_equal(y.compute(), np.arange(200_000.0))


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
def test_an_axis_in_front_of_the_rows() -> None:
    array = np.arange(24.0).reshape(4, 3, 2)
    x = fs.Array.from_numpy(array, 3)
    for key in (None, (None, ...), (None, ..., 0), (None, 1, slice(None), slice(None))):
        np.testing.assert_array_equal(np.asarray(x[key]), array[key])


def test_numpy_takes_an_array_for_its_rows(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function((50, 3), 8, numbers)
    np.testing.assert_array_equal(np.asarray(x), numbers(0, 50))
    np.testing.assert_array_equal(np.array(x, "f4"), numbers(0, 50).astype("f4"))
    matrix = scipy.sparse.random(9, 4, 0.5, format="csr", random_state=0)
    np.testing.assert_array_equal(np.asarray(fs.Array.from_numpy(matrix, 2)), matrix.toarray())


def test_map_blocks_and_reduce(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function((50, 3), 8, numbers)
    y = fs.Array.from_numpy(np.arange(50.0), 8)
    z = x.map_blocks(lambda a, b, k: (a * b[:, None] + k).astype("f4"), y, 1.0, dtype="f4")
    assert (z.shape, z.dtype) == ((50, 3), np.dtype("f4"))
    expected = (numbers(0, 50) * np.arange(50.0)[:, None] + 1).astype("f4")
    np.testing.assert_array_equal(z.compute(), expected)
    assert x.reduce(operator.add, np.sum).result() == numbers(0, 50).sum()
    assert x[3:20].reduce(operator.add, len).result() == 17


def test_csr_matrices(two_workers: fs.Cluster) -> None:
    matrix = scipy.sparse.random(90, 12, 0.2, format="csr", random_state=0)
    x = fs.Array.from_numpy(matrix, 20)
    assert (x.shape, x.dtype) == ((90, 12), matrix.dtype)
    for part, expected in ((x, matrix), (x[5:71], matrix[5:71]), (x.rechunk(33), matrix)):
        assert (part.compute() != expected).nnz == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_take_the_path_of_numpy(two_workers: fs.Cluster, value: float) -> None:
    whole = np.array([1.0, value, 2.0, -1.0, value])
    x = fs.Array.from_numpy(whole, 2)
    np.testing.assert_array_equal(x.rechunk(3).compute(), whole)
    parts = [two_workers.submit(lambda p: sum(b.max() for b in p), one) for one in fs.split(x)]
    expected = [sum(b.max() for b in one) for one in fs.split(x)]
    np.testing.assert_array_equal([part.result() for part in parts], expected)


def test_a_block_of_a_lost_worker_is_made_again() -> None:
    import os
    import signal

    with fs.Cluster(workers=2, executors=1, memory="128MiB") as cluster:
        x = fs.Array.from_function((100, 3), 5, numbers).persist()
        os.kill(cluster.statistics().workers[1].pid, signal.SIGKILL)
        np.testing.assert_array_equal(x.compute(), numbers(0, 100))
