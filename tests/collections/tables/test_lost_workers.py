"""A worker that dies while rows are sorted, joined or grouped: the rows are the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from tests.collections.tables.drawing import MOVED, limits

ROWS, BLOCK = 6_000, 500


def rows(start: int, stop: int) -> Any:
    """Make rows whose keys are in no order."""
    number = np.arange(start, stop)
    return pl.DataFrame({"key": number * 7919 % 401, "n": number}).to_arrow()


def joined(left: Any, right: Any) -> Any:
    """Join by keys of which some are on neither side."""
    return left.join(right.with_columns(pl.col("key") + 1), on="key").sort("n", "n_right")


QUERIES: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda left, right: left.sort("key", "n"),
    "join": joined,
    "group_by": lambda left, right: (
        left.group_by("key").agg(pl.col("n").median(), pl.col("n").sum().alias("sum")).sort("key")
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_the_same_when_a_worker_dies(name: str) -> None:
    table = pl.DataFrame(rows(0, ROWS))
    expected = QUERIES[name](table.lazy(), table.lazy().head(BLOCK)).collect()
    with (
        limits(**MOVED | {"part_nbytes": 20_000}),
        fs.Cluster(workers=2, executors=1, memory="256MiB", disk="1GiB") as cluster,
    ):
        left = fs.Frame.from_function(ROWS, BLOCK, rows, name="left")
        right = fs.Frame.from_function(BLOCK, 100, rows, name="right")
        found = QUERIES[name](left, right)
        # All calls are submitted by now: the last of them run, or wait for their inputs.
        assert found.blocks
        os.kill(cluster.statistics().workers[1].pid, signal.SIGKILL)
        assert_frame_equal(found.to_polars(), expected)
        assert_frame_equal(QUERIES[name](left, right).to_polars(), expected)
