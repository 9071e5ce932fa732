"""Workers that die in the middle of a Dask graph: the result is the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

pytest.importorskip("dask", reason="the extra 'dask' is not installed")


DEATHS = 2


def part(seed: int, marks: str, deaths: int) -> np.ndarray:
    """Make some numbers; kill the worker instead as long as not so many have died."""
    # The program's own blocks lie with worker 0, which is spared.
    is_home = os.environ.get("FREESTONE__MEMORY_DIR", "/0").rstrip("/").endswith("/0")
    if not is_home and len(list(Path(marks).iterdir())) < deaths:
        (Path(marks) / str(seed)).touch()
        os.kill(os.getppid(), signal.SIGKILL)
    return np.random.default_rng(seed).integers(0, 1000, 100_000)


def graph_of(marks: Path) -> dict[str, Any]:
    graph: dict[str, Any] = {f"part-{i}": (part, i, str(marks), DEATHS) for i in range(120)}
    graph |= {f"twice-{i}": (np.multiply, f"part-{i}", 2) for i in range(120)}
    return graph | {"sum": (sum, [f"twice-{i}" for i in range(120)])}


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"tree": False}])
def test_workers_that_die_do_not_change_the_result(tmp_path: Path, options: dict[str, Any]) -> None:
    with fs.Cluster(workers=3, executors=1, memory="256MiB", disk="1GiB") as cluster:
        found = cluster.get(graph_of(tmp_path), "sum", **options)
    expected = sum(2 * part(seed, str(tmp_path), 0) for seed in range(120))
    np.testing.assert_array_equal(found, expected)
    assert list(tmp_path.iterdir())
