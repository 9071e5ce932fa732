"""Find the five nearest neighbours of points of three dimensions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import freestone as fs
from examples import running
from examples.data import in_blocks, uniform
from examples.knn.neighbours import NearestNeighbors
from examples.knn.trees import KERNELS


def load(options: argparse.Namespace) -> tuple[fs.Array, fs.Array]:
    """Return the points to search, and those whose neighbours are looked for."""
    if options.data == "made-up":
        block_rows = max(1, -(-options.points // options.blocks))
        queries = uniform((options.queries, 3), max(1, options.queries // 8), seed=1)
        return uniform((options.points, 3), block_rows), queries
    points = running.real(options.data).points
    points, queries = points[: -len(points) // 8], points[-len(points) // 8 :]
    return in_blocks(points, options.blocks), in_blocks(queries, 8)


def main() -> None:
    """Search, and compare with scikit-learn."""
    from sklearn.neighbors import NearestNeighbors as Reference

    parser = running.parser(str(__doc__), KERNELS, "scipy", 480_000, ["cancer", "digits"])
    parser.add_argument("--queries", type=int, default=24_000, help="made-up, 24,000")
    parser.add_argument("--neighbours", type=int, default=5, help="how many, 5")
    options = parser.parse_args()
    with running.open_cluster(options):
        points, queries = (array.persist() for array in load(options))
        model = NearestNeighbors(options.neighbours, kernel=options.kernel, variant=options.variant)
        label = f"{options.neighbours} neighbours of {len(queries):,} in {len(points):,} points"
        found = running.measure(label, lambda: model.fit(points).kneighbors(queries))
        whole, asked = np.asarray(points.compute()), np.asarray(queries.compute())
    distances, indexes = Reference(n_neighbors=options.neighbours).fit(whole).kneighbors(asked)
    print(f"distances as scikit-learn's: {np.allclose(found.distances, distances)}")
    print(f"the same neighbours: {np.mean(found.indexes == indexes):.2%}")


if __name__ == "__main__":
    main()
