"""What users of DAPHNE ask for: the same fused, plain and on a cluster; inputs never changed."""

from __future__ import annotations

import numpy as np
import pytest

from freestone import Cluster
from freestone.lang.daphnelib import DaphneContext
from tests.lang.scripts import printed, printed_on

RIGHT = {
    "totals of the same pipeline": (
        "X = rand(9, 9, 0.0, 1.0, 1.0, 1); p = X @ X[, 0] * 2.0 + 1.0; print(p / sum(p));"
    ),
    "broadcast against split inputs": (
        "G = rand(9, 9, 0.0, 1.0, 1.0, 1); p = fill(0.5, 9, 1); print((G @ p) + p);"
    ),
    "values before they are made": (
        "X = rand(9, 4, 0.0, 1.0, 1.0, 1); s = sum(X); Y = X * 2.0; print(Y - s); "
        "print(sum(Y) + s);"
    ),
    "rows of what is one column": (
        "X = rand(9, 4, 0.0, 1.0, 1.0, 1); s = sum(X, 0); print(X + aggMax(s, 0)); "
        "print(sum(aggMin(X * 2.0, 0), 0)); m = aggMax(X, 0); print(sum(m)); print(sum(m, 0));"
    ),
    "assignments beside those who look": (
        "X = rand(9, 4, 0.0, 1.0, 1.0, 1); Y = X; T = t(X); X[, 1] = X[, 2]; print(Y); print(T); "
        "for (i in 0:3) { Y[i, ] = X[8, ] * 2.0; } print(Y - X);"
    ),
    "signs of zeros": (
        "X = floor(rand(9, 4, -2.0, 2.0, 1.0, 1)); Y = -X; print(sign(Y * 2.0) + sign(Y)); "
        "print(sign(Y * 1.0) * X);"
    ),
    "transposes of what a branch decides": (
        "G = rand(9, 4, 1.0, 2.0, 0.2, 1); if (sum(G) > 0.0) { G = -G; } print(t(G)); print(G);"
    ),
    "no outputs": ("X = rand(9, 4, 0.0, 1.0, 1.0, 1); Y = (X + 1.0) * 2.0; print(1);"),
    "sparse results twice": (
        "G = rand(30, 30, 1.0, 1.0, 0.1, 1); H = G * 2.0; print(sum(H)); "
        "print(aggMax(H * t(H[, 0]), 0)); print(H @ H[, 1]);"
    ),
    "an input twice": ("X = rand(9, 4, 0.0, 1.0, 1.0, 1); print(sum(X * X + X)); print(X + X);"),
    "integers": (
        "X = as.si32(rand(9, 4, 0.0, 99.0, 1.0, 1)); print((X + X) * as.si32(3)); "
        "print(sum(X % as.si32(5)));"
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_plain_is_right_fused_and_on_a_cluster(
    two_workers: Cluster, name: str
) -> None:
    options = {"select_matrix_repr": "sparse" in name or "branch" in name}
    plain = printed(RIGHT[name], **options)
    assert printed(RIGHT[name], vec=True, num_threads=2, **options) == plain
    assert printed_on(two_workers, RIGHT[name], **options) == plain


def test_sparse_matrices_come_in_without_becoming_dense() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    # Dense, it would be 8 TB.
    side = 1_000_000
    places = np.arange(0, side, 10)
    cells = np.ones(len(places))
    given = sparse.csr_array((cells, (places, places)), shape=(side, side))
    before = given.copy()
    context = DaphneContext()
    lazy = context.from_scipy(given) @ context.from_numpy(np.full((side, 1), 2.0))
    assert (lazy * 1.0).sum().compute() == 2.0 * len(places)
    assert (given != before).nnz == 0


def test_inputs_never_change() -> None:
    given = np.arange(12.0).reshape(4, 3)
    before = given.copy()
    lazy = DaphneContext().from_numpy(given)
    np.testing.assert_array_equal((lazy * 0.0 - 1.0).compute(), before * 0 - 1)
    np.testing.assert_array_equal(given, before)
