"""A worker dies at each step of a write by many; a write that can't be done leaves nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import (
    FileChangedError,
    FormatError,
    StorageFullError,
)
from freestone.io import open_dataset
from freestone.io.formats.arrow import ArrowWriter
from freestone.io.formats.parquet import ParquetWriter
from freestone.io.formats.root import RootWriter
from freestone.io.formats.tdms import TdmsWriter
from freestone.storage import spreading
from tests.io.table import FORMATS, need
from tests.waiting import until

X = np.random.default_rng(3).normal(size=(600, 4))


@pytest.fixture(scope="module")
def module_cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=3, executors=1, memory="128MiB") as cluster:
        yield cluster


# The workers that these tests have killed. A worker that is killed at the last step of a write
# may be counted for a moment after the write is done.
KILLED: set[str] = set()


@pytest.fixture
def three_workers(module_cluster: fs.Cluster) -> fs.Cluster:
    """Return the cluster once the worker that the test before has killed is replaced."""

    def living() -> set[str]:
        return {one.worker for one in module_cluster.statistics().workers}

    assert until(lambda: len(living()) == 3 and not living() & KILLED)
    return module_cluster


def kill(cluster: fs.Cluster, worker: str) -> None:
    (pid,) = [one.pid for one in cluster.statistics().workers if one.worker == worker]
    KILLED.add(worker)
    os.kill(pid, signal.SIGKILL)


def held() -> fs.Array:
    """Return an array of three blocks, each on one of the workers."""
    return fs.Array.from_function(X.shape, 200, lambda start, stop: X[start:stop]).persist()


@dataclass
class Killer:
    """Kills a worker before a step of a write, at which the old file is there still."""

    cluster: fs.Cluster
    victim: str
    path: Path
    left: int

    def watch(self, patch: pytest.MonkeyPatch, owner: Any, name: str, *, old: bool = True) -> None:
        """Make each call of a function a step."""
        original = getattr(owner, name)

        def counted(*words: Any, **options: Any) -> Any:
            if not self.left:
                kill(self.cluster, self.victim)
                assert not old or self.path.read_text() == "old"
            self.left -= 1
            return original(*words, **options)

        patch.setattr(owner, name, counted)


def killer_at(cluster: fs.Cluster, array: fs.Array, path: Path, step: int) -> Killer:
    path.write_text("old")
    return Killer(cluster, array.where()[step % 3][0], path, step)


# Of three blocks: the calls that write them at least, and at most. Text of which it is not known
# where it begins is encoded by one call, and written by another.
CALLS = {"csv": (3, 6), "dbdf": (3, 3), "mtx": (6, 6), "npy": (3, 3)}


@pytest.mark.parametrize(
    ("kind", "step"),
    [(kind, step) for kind, (_, most) in CALLS.items() for step in range(most + 2)],
)
def test_a_worker_dies_at_each_step(
    three_workers: fs.Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    step: int,
) -> None:
    """A step is a call that is made, the draft, or the small file beside."""
    wanted, path = tmp_path / f"wanted.{kind}", tmp_path / f"m.{kind}"
    fs.write(X, wanted)
    array = held()
    killer = killer_at(three_workers, array, path, step)
    killer.watch(monkeypatch, three_workers.client, "submit")
    killer.watch(monkeypatch, spreading, "drafted")
    killer.watch(monkeypatch, spreading, "write_beside", old=False)
    fs.write(array, path)
    least, most = CALLS[kind]
    steps = range(least + 2, most + 3)
    assert step - killer.left in steps, "the steps are others than this test thinks"
    assert path.read_bytes() == wanted.read_bytes()
    assert not list(tmp_path.glob(".*"))


# Of three blocks each is appended by the program, which fetches it before.
STREAMS = {"parquet": ParquetWriter, "arrow": ArrowWriter, "tdms": TdmsWriter, "root": RootWriter}


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind in STREAMS for step in range(5)])
def test_a_worker_dies_at_each_block_of_a_library(
    three_workers: fs.Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    step: int,
) -> None:
    """A step is the beginning, a block, or the end of the file."""
    need(kind)
    path, array = tmp_path / f"m.{kind}", held()
    killer = killer_at(three_workers, array, path, step)
    for name in ("begin", "append", "finish"):
        killer.watch(monkeypatch, STREAMS[kind], name)
    fs.write(array, path)
    assert killer.left == step - 5, "the steps are others than this test thinks"
    np.testing.assert_array_equal(fs.read(path).compute(), X)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_worker_dies_while_chunks_are_written(
    three_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """A step is before the chunks are asked for, after, and when the first of them is there."""
    need("zarr")
    path = tmp_path / "m.zarr"
    fs.write(X[:10], path)
    array = held()
    victim = array.where()[step % 3][0]
    submit, steps = three_workers.client.map, []

    def submitted(function: Any, calls: Any, options: Any = MappingProxyType({})) -> Any:
        if getattr(function, "__name__", "") != "_write":
            return submit(function, calls, options)
        steps.append(step)
        if step == 0:
            kill(three_workers, victim)
        made = submit(function, calls, options)
        if step == 2:
            made[0].result()
        if step:
            kill(three_workers, victim)
        np.testing.assert_array_equal(open_dataset(path).read(0, 10), X[:10])
        return made

    monkeypatch.setattr(three_workers.client, "map", submitted)
    fs.write(array, path)
    assert steps == [step]
    np.testing.assert_array_equal(fs.read(path).compute(), X)
    assert not list(tmp_path.glob(".*"))


def test_a_block_that_cant_be_written_leaves_the_old_file(
    two_workers: fs.Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "m.csv"
    fs.write(X, path)
    before = path.read_bytes()
    array = fs.Array.from_numpy(np.full((40, 2), 123456.0), 10)
    with pytest.raises(FormatError, match="needs 8 characters"):
        fs.write(array, path, width=5)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.csv", "m.csv.meta"]


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy"])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(X, path, **({} if kind == "npy" else {"meta": False}))
    before = path.read_bytes()

    def full(descriptor: int, data: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    size = "more" if kind == "csv" else "18.[89] KiB"
    says = f"{path} can't be written: {tmp_path} has .* free, .* takes {size}; free space"
    with pytest.raises(StorageFullError, match=says) as caught:
        fs.write(X * 2, path)
    assert (caught.value.file, caught.value.filename) == (str(path), str(path))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


OUT_OF_ROOM = """
import resource, sys
import numpy as np
import freestone as fs

x, path, limit = np.random.default_rng(3).normal(size=(60_000, 4)), sys.argv[1], int(sys.argv[2])
fs.write(x[:10], path)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
# A limit would bind the workers' caches, too.
for cluster in (False,) if limit else (False, True):
    try:
        if cluster:
            with fs.Cluster(workers=2, executors=1, memory="128MiB"):
                fs.write(fs.Array.from_numpy(x, 10_000), path)
        else:
            fs.write(x, path)
    except fs.FreestoneError as error:
        print(type(error).__name__)
        if isinstance(error, fs.errors.StorageFullError):
            # What was written of it takes no room any more, unless Arrow can't close its file.
            assert error.file == path
            assert error.free > 100_000 or path.endswith(".arrow"), error
assert (fs.read(path).compute() == x[:10]).all()
"""


def out_of_room(path: Path, limit: int, *before: str) -> list[str]:
    words = [*before, sys.executable, "-c", OUT_OF_ROOM, str(path), str(limit)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


ALL = [kind for kind in FORMATS if kind != "feather"]


@pytest.mark.parametrize("kind", ALL)
def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path: Path, kind: str) -> None:
    need(kind)
    path = tmp_path / "data" / f"m.{kind}"
    path.parent.mkdir()
    assert out_of_room(path, 1 << 18) == ["FileError"]
    assert not list(path.parent.glob(".*"))


@pytest.mark.parametrize("kind", ALL)
def test_a_disk_that_is_really_full(tmp_path: Path, kind: str) -> None:
    need(kind)
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    small = (
        f"mount -t tmpfs -o size=256k none {tmp_path} && "
        f'"$@"; found=$?; ls -A {tmp_path}; exit $found'
    )
    try:
        subprocess.run([*mount, f"mount -t tmpfs none {tmp_path}"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no user namespaces here, so no small file system can be mounted")
    printed = out_of_room(tmp_path / f"m.{kind}", 0, *mount, small, "sh")
    beside = [f"m.{kind}.meta"] if kind in ("csv", "dbdf") else []
    assert printed == ["StorageFullError"] * 2 + [f"m.{kind}", *beside]


def replace(path: Path) -> None:
    """Put something else under a name."""
    if path.is_dir():
        fs.write(X * 2, path)
        return
    beside = path.with_name("new")
    beside.write_bytes(path.read_bytes()[::-1])
    os.replace(beside, path)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (kind, change)
        for kind in ALL
        for change in ("grown", "truncated", "replaced")
        if kind != "zarr" or change == "replaced"
    ],
)
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: str
) -> None:
    need(kind)
    path = tmp_path / f"m.{kind}"
    fs.write(X, path)
    dataset = open_dataset(path)
    kind_of, read = type(dataset), type(dataset).read_rows

    def changing(self: Any, start: int, stop: int, threads: int) -> Any:
        """Change the file between the look at its version and the read."""
        if change == "grown":
            with open(path, "ab") as file:
                file.write(b"1\n")
        elif change == "truncated":
            os.truncate(path, path.stat().st_size // 2)
        else:
            replace(path)
        return read(self, start, stop, threads)

    monkeypatch.setattr(kind_of, "read_rows", changing)
    with pytest.raises((FileChangedError, FormatError), match=f"m.{kind}"):
        dataset.read(0, dataset.rows, threads=2)


def test_orc_that_may_not_grow_is_an_error(tmp_path: Path) -> None:
    """Its library would end the process."""
    need("orc")
    program = """
import resource, signal, sys
import numpy as np
import freestone as fs

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
frame = fs.Frame.from_table({"x": np.random.default_rng(3).normal(size=60_000)}, 20_000)
fs.write(frame, sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))
try:
    fs.write(frame.rechunk(30_000), sys.argv[1])
except fs.FreestoneError as error:
    print(type(error).__name__)
assert fs.read(sys.argv[1]).compute().equals(frame.compute())
"""
    path = tmp_path / "data" / "x.orc"
    path.parent.mkdir()
    words = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "FileError\n"), done.stderr
    assert [file.name for file in path.parent.iterdir()] == ["x.orc"]


def test_orc_names_the_column_that_it_has_no_type_for(tmp_path: Path) -> None:
    need("orc")
    frame = fs.Frame.from_table({"a": [1], "b": np.ones(1, "u8")}, 1)
    with pytest.raises(fs.errors.UsageError, match=r"column .b. is of uint64.*int64"):
        fs.write(frame, tmp_path / "x.orc")
