import hypothesis
import numpy as np
from hypothesis import strategies as st

from examples.data import Blobs, blobs, cancer, digits, draw, uniform


@hypothesis.given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 5))
def test_rows_are_the_same_however_they_are_cut(first, second, third, columns):
    whole = draw(3, columns, 0, first + second + third)
    part = draw(3, columns, first, first + second)
    np.testing.assert_array_equal(part, whole[first : first + second])


def test_blocks_of_any_size_make_the_same_points():
    np.testing.assert_array_equal(uniform((100, 3), 7).compute(), uniform((100, 3), 100).compute())
    kind = Blobs(centres=3, columns=2)
    few, many = blobs(100, 50, kind), blobs(100, 9, kind)
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one.compute(), other.compute())


def test_blobs_lie_around_their_centres():
    kind = Blobs(centres=3, columns=2, spread=0.5)
    points, labels = (array.compute() for array in blobs(6_000, 1_000, kind))
    assert sorted(set(labels)) == [0, 1, 2]
    for label in range(3):
        cloud = points[labels == label]
        np.testing.assert_allclose(cloud.std(axis=0), 0.5, rtol=0.1)


def test_real_data_have_their_shapes():
    assert digits().points.shape == (1_797, 64)
    tumours = cancer()
    assert tumours.points.shape == (569, 30)
    assert tumours.labels is not None
    np.testing.assert_allclose(tumours.points.std(axis=0), 1)
