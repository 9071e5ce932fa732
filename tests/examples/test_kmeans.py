import numpy as np
import pytest
from sklearn.cluster import KMeans as Reference

import freestone as fs
from examples.data import digits, flights, in_blocks, uniform
from examples.kmeans.kernels import KERNELS, nearest
from examples.kmeans.kmeans import KMeans
from examples.kmeans.passes import VARIANTS


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_finds_scikit_learns_centres(variant, kernel, place):
    points = uniform((2_000, 20), 61)
    whole = points.compute()
    init = whole[:8]
    model = KMeans(8, init=init, max_iter=5, tol=0, kernel=kernel, variant=variant).fit(points)
    reference = Reference(8, init=init, n_init=1, max_iter=5, tol=0).fit(whole)
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_, rtol=1e-12)
    assert model.counts_.sum() == 2_000
    assert model.n_iter_ == 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_numbers_give_the_same_centres_to_the_last_bit(variant, place):
    points = digits().points
    init = points[:10]
    found = KMeans(10, init=init, variant=variant).fit(in_blocks(points, 13))
    expected = KMeans(10, init=init, variant="sequential").fit(in_blocks(points, 1))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.counts_, expected.counts_)
    assert found.n_iter_ == expected.n_iter_ < 300


def test_flights(place):
    pytest.importorskip("pandas")
    points = flights().points
    points = points[np.isfinite(points).all(axis=1)]
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    init = points[:5]
    model = KMeans(5, init=init, max_iter=4, tol=0).fit(in_blocks(points, 30))
    reference = Reference(5, init=init, n_init=1, max_iter=4, tol=0).fit(points)
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_, rtol=1e-9)
    assert model.counts_.sum() == len(points)


def test_labels_are_in_the_points_order(place):
    points = uniform((1_000, 4), 37)
    model = KMeans(3, max_iter=4)
    labels = model.fit_predict(points)
    np.testing.assert_array_equal(labels, nearest(points.compute(), model.cluster_centers_))
    np.testing.assert_array_equal(labels, model.predict(np.asarray(points.compute())))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_point_between_two_centres_belongs_to_the_first(kernel):
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])
    found = KERNELS[kernel](points, centres)
    assert found.counts.tolist() == [2, 1, 0]
    assert found.sums.tolist() == [[1, 0], [-1, 0], [0, 0]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("variant", ["sequential", "split"])
def test_points_that_are_not_finite_are_refused(value, variant, place):
    points = np.random.default_rng(0).random((50, 3))
    init = points[:2].copy()
    points[33, 1] = value
    with pytest.raises(ValueError, match=r"NaN or inf|infinity"), np.errstate(invalid="ignore"):
        KMeans(2, init=init, variant=variant).fit(fs.Array.from_numpy(points, 7))


def test_fewer_points_than_clusters_are_refused():
    with pytest.raises(ValueError, match="3 points for 8 clusters"):
        KMeans(8).fit(fs.Array.from_numpy(np.zeros((3, 2)), 2))


def test_a_centre_that_nothing_is_near_to_stays():
    points = fs.Array.from_numpy(np.array([[0.0], [1.0], [2.0]]), 2)
    model = KMeans(2, init=np.array([[0.0], [100.0]])).fit(points)
    assert model.cluster_centers_.tolist() == [[1.0], [100.0]]
