"""Cluster points of twenty dimensions in eight, by ten passes of Lloyd's algorithm."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import freestone as fs
from examples import running
from examples.data import in_blocks, uniform
from examples.kmeans.kernels import KERNELS
from examples.kmeans.kmeans import KMeans


def load(options: argparse.Namespace) -> fs.Array:
    """Return the points that were asked for."""
    if options.data == "made-up":
        block_rows = max(1, -(-options.points // options.blocks))
        return uniform((options.points, 20), block_rows)
    points = running.real(options.data).points
    points = points[np.isfinite(points).all(axis=1)]
    if options.data == "flights":
        points = (points - points.mean(axis=0)) / points.std(axis=0)
    return in_blocks(points, options.blocks)


def main() -> None:
    """Cluster, and compare with scikit-learn from the same first centres."""
    from sklearn.cluster import KMeans as Reference

    names = ["cancer", "digits", "flights"]
    parser = running.parser(str(__doc__), KERNELS, "tiles", 400_000, names)
    parser.add_argument("--clusters", type=int, default=8, help="how many, 8")
    parser.add_argument("--iterations", type=int, default=10, help="passes at most, 10")
    options = parser.parse_args()
    with running.open_cluster(options):
        points = load(options).persist()
        init = np.asarray(points[: options.clusters].compute())
        settings = {"init": init, "max_iter": options.iterations, "tol": 0.0}
        model = KMeans(options.clusters, **settings, kernel=options.kernel, variant=options.variant)
        label = f"k-means of {points.shape[0]:,} points, {options.variant}, {options.kernel}"
        running.measure(label, lambda: model.fit(points))
        whole = np.asarray(points.compute())
    reference = Reference(options.clusters, **settings, n_init=1).fit(whole)
    print(f"passes: {model.n_iter_}; points of each: {model.counts_.tolist()}")
    apart = np.abs(model.cluster_centers_ - reference.cluster_centers_).max()
    print(f"farthest from a centre of scikit-learn's: {apart:.2e}")


if __name__ == "__main__":
    main()
