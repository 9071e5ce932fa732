"""Blocks whose files are damaged: they are made again, or named where nothing can make them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import InputLostError

from .conftest import Opened

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
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    """A cluster whose memory is full, so that what comes lies on disk."""
    with opened(**OPTIONS) as cluster:
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


def test_a_lost_block_of_a_collection_is_named_with_it(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.repeat(np.uint8([1, 2]), NBYTES), NBYTES, name="rain")
    flip(on_disk(cluster, x.blocks[1]))
    for ask in (x.compute, x.map_blocks(lambda block: block * 2).compute):
        with pytest.raises(InputLostError) as lost:
            ask()
        assert lost.value.__notes__[-1].endswith("is block 1 of the array 'rain'")


@pytest.mark.parametrize("size", [10, NBYTES])
def test_a_kept_result_that_is_damaged_is_made_again_by_the_next_run(
    opened: Opened, size: int, tmp_path: Path
) -> None:
    kept, ran = tmp_path / "kept", tmp_path / "ran"

    def run(size: int) -> bytes:
        with open(ran, "a") as log:
            log.write("x")
        return bytes([7]) * size

    for runs in (1, 2, 2):
        with opened(cache=kept, **OPTIONS) as cluster:
            future = cluster.submit(run, size, keep="forever")
            assert future.result() == bytes([7]) * size
            name = future.name
        assert ran.read_text() == "x" * runs
        if runs == 1:
            flip(kept / name)


def test_a_kept_reduction_that_is_damaged_is_made_again_by_the_next_run(
    opened: Opened, tmp_path: Path
) -> None:
    values = [[index] for index in range(20)]
    for runs in (1, 2, 3):
        with opened(cache=tmp_path, **OPTIONS) as cluster:
            future = fs.reduce(operator.add, values, arity=3, keep="forever")
            assert future.result() == list(range(20))
            name, calls = future.name, cluster.statistics().done
        # What was made again is kept again.
        assert calls == (10 if runs < 3 else 0)
        if runs == 1:
            flip(tmp_path / name)


def test_a_reduction_that_is_to_be_kept_after_all_is_there_for_the_next_run(
    opened: Opened,
    tmp_path: Path,
) -> None:
    with opened(cache=tmp_path, **OPTIONS):
        first = fs.reduce(operator.add, [1, 2, 3])
        assert first.result() == 6
        assert fs.reduce(operator.add, [1, 2, 3], keep="forever").result() == 6
    with opened(cache=tmp_path, **OPTIONS) as cluster:
        assert fs.reduce(operator.add, [1, 2, 3], keep="forever").result() == 6
        assert cluster.statistics().done == 0


def test_a_block_that_is_handed_over_as_a_link_is_checked(opened: Opened) -> None:
    with opened(workers=2, links=True, scrub_nbytes_s=0, **OPTIONS) as cluster:
        first, second = (int(one.worker.split("-")[1]) for one in cluster.statistics().workers)
        future = cluster.submit(blob, 3, worker=second)
        fs.wait([future], timeout_s=600)
        flip(Path(cluster.statistics().workers[1].folder, future.name))
        # It is made again there, and brought here.
        assert cluster.submit(total, future, worker=first).result() == 3 * NBYTES
        assert cluster.statistics().recovered == 1
