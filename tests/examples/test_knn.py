from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors as Reference

from examples.data import digits, in_blocks, uniform
from examples.knn.neighbours import NearestNeighbors
from examples.knn.searches import FITS
from examples.knn.trees import KERNELS, MANY, Found, build, curve, look_up, merge


@pytest.mark.parametrize("variant", FITS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_finds_scikit_learns_neighbours(variant, kernel, place):
    points, queries = uniform((3_000, 3), 190), uniform((400, 3), 70, seed=1)
    model = NearestNeighbors(5, kernel=kernel, variant=variant).fit(points)
    found = model.kneighbors(queries)
    reference = Reference(n_neighbors=5).fit(points.compute())
    distances, indexes = reference.kneighbors(queries.compute())
    np.testing.assert_array_equal(found.indexes, indexes)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


def test_there_is_one_tree_on_each_worker(place):
    points = uniform((3_000, 3), 100).persist()
    trees = NearestNeighbors().fit(points).trees_
    holders = {worker for where in points.where() for worker in where}
    assert len(trees) == max(1, len(holders))


def test_digits(place):
    points = digits().points
    model = NearestNeighbors(3).fit(in_blocks(points[200:], 7))
    found = model.kneighbors(in_blocks(points[:200], 3))
    distances, _ = Reference(n_neighbors=3).fit(points[200:]).kneighbors(points[:200])
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", ["sequential", "blocks", "split"])
def test_blocks_with_fewer_points_than_neighbours(kernel, variant, place):
    points, queries = uniform((20, 2), 3), uniform((10, 2), 4, seed=1)
    found = NearestNeighbors(7, kernel=kernel, variant=variant).fit(points).kneighbors(queries)
    _, indexes = Reference(n_neighbors=7).fit(points.compute()).kneighbors(queries.compute())
    np.testing.assert_array_equal(found.indexes, indexes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_look_up_in_one_tree_at_once(kernel):
    rng = np.random.default_rng(0)
    tree = build(rng.random((5_000, 3)), [range(5_000)], kernel)
    parts = np.array_split(rng.random((4_000, 3)), 16)
    expected = [look_up(tree, part, 5) for part in parts]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda part: look_up(tree, part, 5), parts))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.indexes, other.indexes)
        np.testing.assert_array_equal(one.distances, other.distances)


def test_of_neighbours_equally_near_the_first_rows_are_taken():
    far = Found(np.array([[1.0, 2.0]]), np.array([[7, 3]]))
    near = Found(np.array([[1.0, 2.0]]), np.array([[5, 1]]))
    assert merge(far, near).indexes.tolist() == [[5, 7]]


def test_rows_of_a_tree_over_several_runs():
    points = np.arange(6.0)[:, None]
    tree = build(points, [range(10, 13), range(0, 2), range(4, 5)], "scipy")
    found = look_up(tree, points, 1)
    assert found.indexes[:, 0].tolist() == [10, 11, 12, 0, 1, 4]


def test_more_neighbours_than_points_are_refused():
    with pytest.raises(ValueError, match="5 neighbours among 3 points"):
        NearestNeighbors(5).fit(uniform((3, 2), 2))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_many_points_are_looked_up_as_few_are(kernel, columns):
    rng = np.random.default_rng(3)
    tree = build(rng.random((500, columns)), [range(500)], kernel)
    points = rng.random((MANY, columns))
    points[:, 0] *= 1e6
    found = look_up(tree, points, 4)
    for start in range(0, MANY, 250):
        few = look_up(tree, points[start : start + 250], 4)
        assert np.array_equal(found.distances[start : start + 250], few.distances)
        assert np.array_equal(found.indexes[start : start + 250], few.indexes)


def test_a_curve_has_every_row_once_and_near_points_together():
    corners = np.tile([[0.0, 0.0], [1.0, 1.0]], (600, 1))
    order = curve(corners)
    assert sorted(order) == list(range(1200))
    assert np.array_equal(corners[order], np.repeat([[0.0, 0.0], [1.0, 1.0]], 600, axis=0))
    assert sorted(curve(np.ones((5, 3)))) == list(range(5))
