"""Count points of five dimensions in a grid of 4 x 4 x 4 x 4 x 4 cells."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import freestone as fs
from examples import running
from examples.data import in_blocks, uniform
from examples.histogram.histogram import histogram
from examples.histogram.kernels import KERNELS, Grid, count_numpy

FLIGHTS = Grid((6, 6, 6, 6, 6), (-60, -60, 0, 0, 0), (300, 300, 720, 3600, 24))
"""Early to five hours late, up to twelve hours in the air, up to 3,600 miles, all day."""


def load(options: argparse.Namespace) -> tuple[fs.Array, Grid]:
    """Return the points that were asked for, and their grid."""
    if options.data == "flights":
        return in_blocks(running.real("flights").points, options.blocks), FLIGHTS
    block_rows = max(1, -(-options.points // options.blocks))
    return uniform((options.points, 5), block_rows), Grid.uniform(5, 4)


def main() -> None:
    """Count, and compare with NumPy on the whole array."""
    parser = running.parser(str(__doc__), KERNELS, "tiles", 2_000_000, ["flights"])
    options = parser.parse_args()
    with running.open_cluster(options):
        points, grid = load(options)
        points = points.persist()
        label = f"histogram of {points.shape[0]:,} points, {options.variant}, {options.kernel}"
        counts = running.measure(
            label,
            lambda: histogram(points, grid, kernel=options.kernel, variant=options.variant),
        )
        alike = np.array_equal(counts, count_numpy(np.asarray(points.compute()), grid))
    print(f"inside: {counts.sum():,}; the fullest cell: {counts.max():,}")
    print(f"as numpy.histogramdd says: {alike}")


if __name__ == "__main__":
    main()
