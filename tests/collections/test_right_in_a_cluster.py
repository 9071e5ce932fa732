"""What once was wrong in silence: exact now, or an error with the block, in a cluster."""

from __future__ import annotations

import numpy as np
import pytest

import freestone as fs

A = np.arange(6.0)


def x() -> fs.Array:
    return fs.Array.from_numpy(A, 2)


def test_blocks_of_other_types_are_named_in_a_cluster(cluster: fs.Cluster) -> None:
    mixed = fs.Array.from_function(6, 3, lambda a, b: np.arange(a, b) * (1.5 if a else 1), name="m")
    with pytest.raises(TypeError, match=r"block 1 of 'm' is .* float64.*give dtype="):
        mixed.sum().compute()


def test_rows_below_each_other_in_a_cluster(cluster: fs.Cluster) -> None:
    joined = np.concatenate([x(), fs.Array([A], None, name="here"), x() + 1])
    np.testing.assert_array_equal(joined.compute(), np.concatenate([A, A, A + 1]))
    assert joined.sum().compute() == 3 * A.sum() + 6


@pytest.mark.parametrize("blocks", [4, [0, 0, 2, 2, 9, 11, 11]])
def test_another_byte_order_stays_in_a_cluster(
    cluster: fs.Cluster, blocks: int | list[int]
) -> None:
    a = np.arange(33, dtype=">f8").reshape(11, 3)
    of_columns = np.asfortranarray(a)
    for given in (a, of_columns):
        array = fs.Array.from_numpy(given, blocks)
        for found, wanted in ((array, a), (array[:, 0], a[:, 0]), (array[:, ::-1], a[:, ::-1])):
            computed = found.compute()
            assert computed.dtype.str == ">f8"
            np.testing.assert_array_equal(computed, wanted)
    made = fs.Array.from_function(11, 4, lambda start, stop: a[start:stop, 1])
    assert made.compute().dtype.str == ">f8"
