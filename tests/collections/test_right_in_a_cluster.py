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
