import numpy as np
import pytest
from sklearn.svm import SVC

from examples.cascade_svm.levels import VARIANTS
from examples.cascade_svm.svm import CascadeSVC
from examples.cascade_svm.vectors import KERNELS, Vectors, train
from examples.data import Blobs, blobs, cancer, digits, in_blocks

# Blocks of a few rows are made wherever there is time; their partners follow.
pytestmark = pytest.mark.filterwarnings("ignore:.*not where their partners are:UserWarning")

HARD = Blobs(centres=2, columns=4, spread=8.0)


def expect_the_optimum(model, points, labels):
    """Check a model against one machine trained on all points."""
    reference = SVC(**model.settings | {"gamma": model.model_.gamma}).fit(points, labels)
    found = model.model_.decision_function(points)
    np.testing.assert_allclose(found, reference.decision_function(points), atol=0.02)
    assert model.converged_
    np.testing.assert_array_equal(model.predict(points), reference.predict(points))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_converges_to_the_optimum(variant, kernel, place):
    points, labels = blobs(600, 53, HARD)
    model = CascadeSVC(variant=variant, kernel=kernel, arity=4).fit(points, labels)
    expect_the_optimum(model, points.compute(), labels.compute())


@pytest.mark.parametrize("kernel", KERNELS)
def test_tumours(kernel, place):
    data = cancer()
    points, labels = in_blocks(data.points, 9), in_blocks(data.labels, 9)
    model = CascadeSVC(kernel=kernel).fit(points, labels)
    expect_the_optimum(model, data.points, data.labels)


def test_labels_stay_with_their_points(place):
    points, labels = blobs(500, 41, HARD)
    model = CascadeSVC().fit(points, labels)
    whole, classes = points.compute(), labels.compute()
    kept = whole[model.support_]
    np.testing.assert_array_equal(kept[model.model_.support_], model.model_.support_vectors_)
    reference = SVC(gamma=model.model_.gamma).fit(kept, classes[model.support_])
    np.testing.assert_array_equal(reference.dual_coef_, model.model_.dual_coef_)
    assert model.score(points, labels) > 0.7


def test_classes_that_come_one_after_the_other(place):
    data = cancer()
    order = np.argsort(data.labels, kind="stable")
    points, labels = data.points[order], data.labels[order]
    model = CascadeSVC().fit(in_blocks(points, 6), in_blocks(labels, 6))
    expect_the_optimum(model, points, labels)


def test_ten_classes():
    data = digits()
    model = CascadeSVC(variant="split", max_iter=5)
    model.fit(in_blocks(data.points, 8), in_blocks(data.labels, 8))
    assert model.score(in_blocks(data.points, 8), data.labels) > 0.99


def test_a_cascade_that_has_to_stop_too_early_says_so():
    points, labels = blobs(600, 53, HARD)
    with pytest.warns(RuntimeWarning, match="after 2 rounds"):
        model = CascadeSVC(max_iter=2, variant="sequential").fit(points, labels)
    assert not model.converged_


def test_the_union_has_each_point_once():
    left = Vectors(np.array([1, 4]), np.array([[1.0], [4.0]]), np.array([0, 1]))
    right = Vectors(np.array([0, 4]), np.array([[0.0], [4.0]]), np.array([1, 1]))
    union = Vectors.union(left, right)
    assert union.indexes.tolist() == [0, 1, 4]
    assert union.points.tolist() == [[0.0], [1.0], [4.0]]
    assert union.labels.tolist() == [1, 0, 1]


def test_a_set_of_one_class_goes_on_as_it_is():
    vectors = Vectors(np.arange(3), np.eye(3), np.zeros(3))
    assert train({}, "svc", vectors) is vectors
