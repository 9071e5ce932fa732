"""The levels of a cascade: in sequence, by a call per block, by a call per partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import freestone as fs
from examples.cascade_svm.vectors import Settings, Vectors, train
from examples.running import one_per_core

__all__ = ["VARIANTS", "Round", "cascade", "per_block", "sequential", "with_split"]

Round = Callable[[Any], Any]
"""Takes the support vectors of the round before, or None; returns those of this one."""

train_task = fs.task(train)


def cascade(parts: Sequence[Any], settings: Settings, kernel: str, arity: int, step: Any) -> Any:
    """Merge support vectors level by level, `arity` of them at a time, until one set is left."""
    while len(parts) > 1:
        groups = [parts[start : start + arity] for start in range(0, len(parts), arity)]
        parts = [step(settings, kernel, *group) for group in groups]
    return parts[0]


def train_rows(
    start: int,
    points: Any,
    labels: Any,
    fed_back: Vectors | None,
    settings: Settings,
    kernel: str,
) -> Vectors:
    """Train on a block, whose first row is number `start`, and on what was fed back."""
    own = Vectors(np.arange(start, start + len(points)), points, labels)
    return train(settings, kernel, own, *([] if fed_back is None else [fed_back]))


def sequential(
    points: fs.Array, labels: fs.Array, settings: Settings, kernel: str, arity: int
) -> Round:
    """Train block after block, here, and merge."""

    def run(fed_back: Vectors | None) -> Vectors:
        starts = points.offsets[:-1].tolist()
        blocks = zip(starts, points.iter_blocks(), labels.iter_blocks(), strict=True)
        parts = [train_rows(*block, fed_back, settings, kernel) for block in blocks]
        merged: Vectors = cascade(parts, settings, kernel, arity, train)
        return merged

    return run


train_block = fs.task(train_rows)


def per_block(
    points: fs.Array, labels: fs.Array, settings: Settings, kernel: str, arity: int
) -> Round:
    """Train with a call for each block, and merge with calls."""

    def run(fed_back: Any) -> Any:
        blocks = zip(points.offsets[:-1].tolist(), points.blocks, labels.blocks, strict=True)
        parts = []
        for block in blocks:
            parts.append(train_block(*block, fed_back, settings, kernel))
        return cascade(parts, settings, kernel, arity, train_task)

    return run


@fs.task
def train_partition(
    partition: Any, fed_back: Vectors | None, settings: Settings, kernel: str, materialize: bool
) -> Vectors:
    """Train on all blocks of a partition at once, and on what was fed back."""
    if materialize:
        points, labels = partition.materialize()
    else:
        pairs = list(partition)
        points = np.concatenate([block for block, _ in pairs])
        labels = np.concatenate([block for _, block in pairs])
    own = Vectors(partition.get_item_indexes(), points, labels)
    return train(settings, kernel, own, *([] if fed_back is None else [fed_back]))


def with_split(
    points: fs.Array,
    labels: fs.Array,
    settings: Settings,
    kernel: str,
    arity: int,
    materialize: bool = False,
) -> Round:
    """Train with a call for each partition of points and labels, and merge with calls."""
    partitions = fs.split(points, labels)
    if materialize:
        for partition in partitions:
            partition.materialize()

    def run(fed_back: Any) -> Any:
        parts = []
        for partition in partitions:
            parts.append(train_partition(partition, fed_back, settings, kernel, materialize))
        return cascade(parts, settings, kernel, arity, train_task)

    return run


def materialized(
    points: fs.Array, labels: fs.Array, settings: Settings, kernel: str, arity: int
) -> Round:
    """Split, with the blocks of a partition joined once for all rounds."""
    return with_split(points, labels, settings, kernel, arity, materialize=True)


def rechunked(points: fs.Array, labels: fs.Array, *rest: Any) -> Round:
    """Train with a call for each block, of arrays cut anew in one block for each core."""
    return per_block(one_per_core(points), one_per_core(labels), *rest)


VARIANTS: dict[str, Callable[[fs.Array, fs.Array, Settings, str, int], Round]] = {
    "sequential": sequential,
    "blocks": per_block,
    "split": with_split,
    "materialize": materialized,
    "rechunk": rechunked,
}
