import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from examples.data import uniform
from examples.histogram.histogram import VARIANTS, histogram
from examples.histogram.kernels import FEW_BINS, KERNELS, TILE_NBYTES, Grid, count_numpy

GRID = Grid.uniform(5, 4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_counts_as_numpy_does(variant, kernel, place):
    points = uniform((4_001, 5), 130)
    counts = histogram(points, GRID, kernel=kernel, variant=variant)
    np.testing.assert_array_equal(counts, count_numpy(points.compute(), GRID))
    assert counts.dtype == np.int64


@pytest.mark.parametrize("place", ["one worker", "two workers"], indirect=True)
def test_a_call_per_partition_moves_nothing(place):
    points = uniform((4_000, 5), 100).persist()
    before = place.statistics().transferred_nbytes
    histogram(points, GRID)
    moved = place.statistics().transferred_nbytes - before
    # Each of the four partial counts once at the most, and none of the 160 kB of points.
    assert moved <= 4 * (GRID.size * 8 + 1024)


EDGES = [-1.0, -0.0, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, np.nan, np.inf, -np.inf]
VALUES = st.sampled_from(EDGES) | st.floats(-0.5, 1.5)


@pytest.mark.parametrize("kernel", ["boost", "tiles"])
@hypothesis.given(
    points=hnp.arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=VALUES),
    bins=st.tuples(st.integers(1, FEW_BINS + 4), st.integers(1, FEW_BINS + 4)),
    high=st.sampled_from([1.0, 0.3, 0.7]),
)
@hypothesis.settings(deadline=None)
def test_values_on_edges_outside_and_not_numbers_count_as_in_numpy(kernel, points, bins, high):
    grid = Grid(bins, (0.0, -0.1), (high, 1.0))
    np.testing.assert_array_equal(KERNELS[kernel](points, grid), count_numpy(points, grid))


def test_more_points_than_a_tile_holds():
    rows = 2 * TILE_NBYTES // 40 + 7
    points = np.random.default_rng(0).normal(0.5, 0.3, (rows, 5))
    np.testing.assert_array_equal(KERNELS["tiles"](points, GRID), count_numpy(points, GRID))


def test_more_cells_than_sixteen_bits_count():
    grid = Grid.uniform(3, 41)
    points = np.random.default_rng(0).random((5_000, 3))
    np.testing.assert_array_equal(KERNELS["tiles"](points, grid), count_numpy(points, grid))


def test_flights_count_as_in_numpy(place):
    pytest.importorskip("pandas")
    from examples.data import flights, in_blocks
    from examples.histogram.main import FLIGHTS

    points = flights().points
    assert points.shape == (336_776, 5)
    counts = histogram(in_blocks(points, 20), FLIGHTS)
    np.testing.assert_array_equal(counts, count_numpy(points, FLIGHTS))


def test_no_points_are_refused(place):
    with pytest.raises(fs.FreestoneError, match="no blocks"):
        histogram(fs.Array.from_blocks([]), GRID)
