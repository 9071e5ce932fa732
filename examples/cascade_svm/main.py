"""Train a support vector machine in a cascade, until no part of the points changes it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import freestone as fs
from examples import running
from examples.cascade_svm.svm import CascadeSVC
from examples.cascade_svm.vectors import KERNELS
from examples.data import Blobs, blobs, in_blocks


def load(options: argparse.Namespace) -> tuple[fs.Array, fs.Array]:
    """Return the points and labels that were asked for."""
    if options.data == "made-up":
        block_rows = max(1, -(-options.points // options.blocks))
        return blobs(options.points, block_rows, Blobs(centres=2, spread=6.0))
    data = running.real(options.data)
    return in_blocks(data.points, options.blocks), in_blocks(data.labels, options.blocks)


def main() -> None:
    """Train, and compare with one SVC on all points."""
    from sklearn.svm import SVC

    names = ["cancer", "digits"]
    parser = running.parser(str(__doc__), KERNELS, "svc", 6_144, names)
    parser.add_argument("--iterations", type=int, default=20, help="rounds at most, 20")
    parser.add_argument("--arity", type=int, default=8, help="sets merged at a time, 8")
    options = parser.parse_args()
    with running.open_cluster(options):
        points, labels = (array.persist() for array in load(options))
        model = CascadeSVC(
            max_iter=options.iterations,
            arity=options.arity,
            kernel=options.kernel,
            variant=options.variant,
        )
        label = f"cascade SVM of {points.shape[0]:,} points, {options.variant}"
        running.measure(label, lambda: model.fit(points, labels))
        whole, classes = np.asarray(points.compute()), np.asarray(labels.compute())
    reference = SVC(gamma=model.model_.gamma).fit(whole, classes)
    same = np.mean(model.predict(whole) == reference.predict(whole))
    print(f"rounds: {model.n_iter_}; converged: {model.converged_}")
    print(f"support vectors: {len(model.support_)}; of one SVC: {len(reference.support_)}")
    print(f"predicted as one SVC does: {same:.2%}")


if __name__ == "__main__":
    main()
