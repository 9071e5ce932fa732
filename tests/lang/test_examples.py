"""The example scripts against SciPy, scikit-learn and plain NumPy."""

import io
from typing import Any

import numpy as np
import pytest

from freestone.lang.front.types.types import CODES
from freestone.lang.script import run_text
from freestone.lang.settings import Settings
from tests.lang.examples import FOLDER, example

Array = np.ndarray[Any, Any]


def printed(script: str, *arguments: str) -> list[Array]:
    """Return the matrices that a script prints, the same with and without pipelines."""
    texts = []
    for vec in (False, True):
        out = io.StringIO()
        text = (FOLDER / f"{script}.daph").read_text()
        run_text(text, arguments, Settings(vec=vec, num_threads=2), out)
        texts.append(out.getvalue())
    plain, fused = map(read, texts)
    for one, two in zip(plain, fused, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4)
    return plain


def read(text: str) -> list[Array]:
    """Return the matrices in what a script printed, and scalars as 1x1 matrices."""
    parts = text.split("DenseMatrix")
    scalars = [np.array([[float(parts[0])]])] if parts[0] else []
    return scalars + [
        np.array([line.split() for line in part.splitlines()[1:]], float) for part in parts[1:]
    ]


def drawn(rows: int, columns: int, seed: int, share: float = 1.0, low: float = 0.0) -> Array:
    """Draw as scripts do."""
    from freestone._native.vector import Drawing

    out = np.empty((rows, columns))
    Drawing(CODES["f64"], out.size, low, 1.0, share, seed).fill(out)
    return out


def test_conjugate_gradient() -> None:
    linear = pytest.importorskip("scipy.sparse.linalg")
    x, y = drawn(40, 20, 1), drawn(40, 1, 2)
    expected, failed = linear.cg(x.T @ x + np.eye(20), x.T @ y, rtol=1e-12)
    assert not failed
    found = printed("conjugate_gradient", "n=20")[0]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-4)


def test_pagerank() -> None:
    linear = pytest.importorskip("scipy.linalg")
    graph = drawn(50, 50, 3, 0.1, 1.0)
    sums = graph.sum(0)
    chain = np.where(sums > 0, graph / np.maximum(sums, 1), 1 / 50)
    values, vectors = linear.eig(0.85 * chain + 0.15 / 50)
    first = np.real(vectors[:, np.argmax(np.real(values))])
    np.testing.assert_allclose(printed("pagerank", "n=50")[0][:, 0], first / first.sum(), rtol=1e-4)


def test_components() -> None:
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    graph = drawn(100, 100, 5, 0.02, 1.0)
    count, labels = csgraph.connected_components(graph, directed=False)
    (found,) = printed("components", "n=100")
    pairs = set(zip(labels.tolist(), found[:, 0].tolist(), strict=True))
    assert len(pairs) == count == len(set(found[:, 0]))


def test_linear_regression() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = drawn(60, 5, 7)
    x, y = data[:, :4], data[:, 4:]
    x = np.hstack([(x - x.mean(0)) / x.std(0), np.ones((60, 1))])
    model = linear.Ridge(alpha=0.001, fit_intercept=False, solver="cholesky").fit(x, y[:, 0])
    (found,) = printed("linear_regression", "n=60", "m=4")
    np.testing.assert_allclose(found[:, 0], model.coef_, rtol=1e-4, atol=1e-8)


def simplified(x: Array, y: Array, first: int, last: int) -> set[int]:
    """Return the points that Ramer, Douglas and Peucker keep between two points, and these."""
    slope = (y[last] - y[first]) / (x[last] - x[first])
    away = np.abs(y - y[first] - slope * (x - x[first])) / np.hypot(1, slope)
    inside = away[first + 1 : last]
    if not inside.size or inside.max() <= 0.1:
        return {first, last}
    at = first + 1 + int(inside.argmax())
    return simplified(x, y, first, at) | simplified(x, y, at, last)


def test_line_simplification() -> None:
    x = np.arange(60.0)
    y = np.sin(x / 7.0) + 0.05 * (2.0 * drawn(60, 1, 3)[:, 0] - 1.0)
    kept = sorted(simplified(x, y, 0, 59))
    (found,) = printed("line_simplification", "n=60", "tolerance=0.1")
    np.testing.assert_allclose(found, np.column_stack([x[kept], y[kept]]), rtol=1e-4)


def test_kmeans() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    x = drawn(80, 3, 11)
    model = cluster.KMeans(4, init=x[:4], n_init=1, max_iter=100, tol=0).fit(x)
    (found,) = printed("kmeans", "n=80", "m=3", "k=4")
    np.testing.assert_allclose(found, model.cluster_centers_, rtol=1e-4)


def test_pca() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    model = decomposition.PCA(2, svd_solver="full").fit(drawn(50, 4, 13))
    values, vectors = printed("pca", "n=50", "m=4", "k=2")
    np.testing.assert_allclose(values[:, 0], model.explained_variance_, rtol=1e-4)
    signs = np.sign((vectors * model.components_.T).sum(0))
    np.testing.assert_allclose(vectors * signs, model.components_.T, rtol=1e-3, atol=1e-5)


def test_gnmf() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    x, w, h = drawn(20, 8, 17), drawn(20, 3, 18), drawn(3, 8, 19)
    # It changes its left factor first, and the script its right one: so it is given transposes.
    model = decomposition.NMF(3, init="custom", solver="mu", max_iter=20, tol=0)
    left = model.fit_transform(x.T.copy(), W=h.T.copy(), H=w.T.copy())
    w, h = model.components_.T, left.T
    (found,) = printed("gnmf", "n=20", "m=8", "k=3")
    np.testing.assert_allclose(found.item(), ((x - w @ h) ** 2).sum(), rtol=1e-4)


def test_logistic_regression() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    x = drawn(120, 4, 23)
    y = (x[:, :3] + drawn(120, 3, 29) * 0.5).argmax(1)
    x = np.hstack([x, np.ones((120, 1))])
    model = linear.LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    model.fit(x, y)
    text = example("logistic_regression", Settings())
    head, _, score = text.rstrip().rpartition("\n")
    np.testing.assert_allclose(read(head)[0], model.coef_.T, rtol=1e-3, atol=1e-4)
    assert float(score) == pytest.approx(model.score(x, y), abs=1e-5)


def trees_data(rows: int, columns: int) -> tuple[Array, Array]:
    x = np.floor(drawn(rows, columns, 31) * 10)
    y = np.floor((x[:, 0] + x[:, 1] * 0.5 + drawn(rows, 1, 37)[:, 0] * 4) / 7)
    return x, y


def test_decision_tree() -> None:
    tree = pytest.importorskip("sklearn.tree")
    x, y = trees_data(200, 4)
    model = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y)
    (found,) = read(example("decision_tree", Settings(vec=True)))
    np.testing.assert_array_equal(found[:, 0], model.predict(x))
    assert len(set(found[:, 0])) == 3


def lower_thresholds(model: Any, x: Array, drawn_rows: Array) -> None:
    """Put thresholds at the value below them; scikit-learn has them half way to the next.

    Rows that a tree did not draw may lie between.
    """
    paths = model.decision_path(x).toarray().astype(bool)
    for node, feature in enumerate(model.tree_.feature):
        if feature >= 0:
            cells = x[paths[:, node] & drawn_rows, feature]
            model.tree_.threshold[node] = cells[cells <= model.tree_.threshold[node]].max()


def test_random_forest() -> None:
    from freestone._native.vector import sample

    tree = pytest.importorskip("sklearn.tree")
    x, y = trees_data(200, 4)
    votes = np.zeros((200, 3))
    for number in range(1, 6):
        rows, features = np.zeros(200, "i8"), np.zeros(2, "i8")
        sample(CODES["si64"], rows, 200, True, number)
        sample(CODES["si64"], features, 4, False, 100 + number)
        weights, chosen = np.bincount(rows, minlength=200), np.sort(features)
        model = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
        model.fit(x[:, chosen], y, sample_weight=weights)
        lower_thresholds(model, x[:, chosen], weights > 0)
        votes[np.arange(200), model.predict(x[:, chosen]).astype(int)] += 1
    (found,) = read(example("random_forest", Settings(vec=True)))
    np.testing.assert_array_equal(found[:, 0], votes.argmax(1))
