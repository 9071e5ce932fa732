"""Blocks whose files are damaged: they are made again, or named where nothing can make them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import InputLostError

OPTIONS: dict[str, Any] = {"executors": 1, "memory": "32MiB", "disk": "256MiB"}
NBYTES = 10 << 20


def blob(value: int) -> np.ndarray:
    return np.full(NBYTES, value, np.uint8)


def total(x: np.ndarray) -> int:
    return int(x.sum(dtype=np.int64))


def flip(path: Path) -> None:
    """Change the last byte of a file."""
    with path.open("r+b") as file:
        file.seek(-1, 2)
        (byte,) = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([byte ^ 1]))


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    """A cluster whose memory is full, so that what comes lies on disk."""
    with fs.Cluster(**OPTIONS) as cluster:
        held = cluster.map(blob, range(100, 104))
        fs.wait(held, timeout_s=600)
        yield cluster


def on_disk(cluster: fs.Cluster, future: fs.Future[Any]) -> Path:
    """Wait for a block; its file, which lies on disk."""
    fs.wait([future], timeout_s=600)
    path = Path(cluster.folder, "disk-0", future.name)
    assert path.exists()
    return path


@pytest.mark.parametrize("as_input", [False, True])
def test_a_result_on_disk_that_is_damaged_is_made_again(
    cluster: fs.Cluster, as_input: bool
) -> None:
    future = cluster.submit(blob, 3)
    flip(on_disk(cluster, future))
    found = cluster.submit(total, future).result() if as_input else total(future.result())
    assert found == 3 * NBYTES
    assert cluster.statistics().recovered == 1


@pytest.mark.parametrize("as_input", [False, True])
def test_a_value_that_was_put_and_is_damaged_on_disk_is_named(
    cluster: fs.Cluster, as_input: bool
) -> None:
    future = cluster.put(blob(3))
    flip(on_disk(cluster, future))
    asked = cluster.submit(total, future) if as_input else future
    with pytest.raises(InputLostError, match=future.name[:8]):
        asked.result()
    # What is put again is there again.
    assert cluster.submit(total, cluster.put(blob(3))).result() == 3 * NBYTES


@pytest.mark.parametrize("size", [10, NBYTES])
def test_a_kept_result_that_is_damaged_is_made_again_by_the_next_run(
    size: int, tmp_path: Path
) -> None:
    kept, ran = tmp_path / "kept", tmp_path / "ran"

    def run(size: int) -> bytes:
        with open(ran, "a") as log:
            log.write("x")
        return bytes([7]) * size

    for runs in (1, 2, 2):
        with fs.Cluster(cache=kept, **OPTIONS) as cluster:
            future = cluster.submit(run, size, keep="forever")
            assert future.result() == bytes([7]) * size
            name = future.name
        assert ran.read_text() == "x" * runs
        if runs == 1:
            flip(kept / name)
