"""Folders made once on each node, environments, variables and tags."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

import freestone as fs
from freestone.errors import StorageFullError

from .conftest import Opened


@pytest.fixture(scope="module")
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(workers=2, executors=2, memory="64MiB", disk="1GiB") as cluster:
        yield cluster


def archive_of(folder: Path, path: Path) -> fs.File:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname=".")
    return fs.file(path)


def fill(folder: str, log: str, word: str) -> None:
    with open(log, "a") as file:
        file.write("x")
    Path(folder, "word").write_text(word)


def look(folder: os.PathLike[str], number: int) -> tuple[str, str]:
    return os.fspath(folder), Path(folder, "word").read_text()


def test_a_folder_is_made_once_on_each_node(cluster: fs.Cluster, tmp_path: Path) -> None:
    log = tmp_path / "log"
    folder = fs.prepare(fill, str(log), "hello")
    assert not log.exists()
    futures = [cluster.submit(look, folder, n, worker=n % 2) for n in range(20)]
    found = cluster.gather(futures)
    assert {word for _, word in found} == {"hello"}
    assert len({path for path, _ in found}) == 2
    assert log.read_text() == "xx"


def test_folders_are_named_by_what_makes_them() -> None:
    one, same, other = (fs.prepare(fill, "log", word) for word in ("a", "a", "b"))
    assert one.key == same.key != other.key


def test_a_folder_that_can_not_be_made_is_reported_and_tried_again(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    def fails(folder: str, path: str) -> None:
        if not os.path.exists(path):
            raise RuntimeError("not yet")

    folder = fs.prepare(fails, str(tmp_path / "there"))
    with pytest.raises(RuntimeError, match="not yet"):
        cluster.submit(os.fspath, folder, worker=0).result(60)
    (tmp_path / "there").touch()
    assert os.path.isdir(cluster.submit(os.fspath, folder, worker=0, pure=False).result(60))


def test_an_archive_is_unpacked(cluster: fs.Cluster, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "word").write_text("from the archive")
    unpacked = fs.untar(archive_of(tmp_path / "in", tmp_path / "in.tar.gz"))
    assert cluster.submit(look, unpacked, 0).result(60)[1] == "from the archive"
    # Without a cluster as well.
    assert (unpacked / "word").read_text() == "from the archive"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> fs.File:
    """A virtual environment with a module that is nowhere else."""
    folder = tmp_path_factory.mktemp("environment")
    root = folder / "env"
    words = [sys.executable, "-m", "venv", "--without-pip", str(root)]
    subprocess.run(words, check=True, timeout=100)
    (packages,) = root.glob("lib/python*/site-packages")
    (packages / "only_there.py").write_text("def answer(): return 42\n")
    source = Path(cloudpickle.__file__).parent
    with tarfile.open(folder / "env.tar.gz", "w:gz") as archive:
        archive.add(root, arcname="env")
        archive.add(source, arcname=f"env/{packages.relative_to(root)}/cloudpickle")
    return fs.file(folder / "env.tar.gz")


def ask(plus: int) -> tuple[int, str, str | None]:
    import only_there  # type: ignore[import-not-found]

    print("what it prints is no part of the result")
    return only_there.answer() + plus, sys.prefix, os.environ.get("COLOUR")


def test_a_function_runs_in_an_environment(cluster: fs.Cluster, environment: fs.File) -> None:
    with pytest.raises(ModuleNotFoundError):
        cluster.submit(ask, 0).result(60)
    options = {"environment": environment, "env": {"COLOUR": "red"}}
    futures = [cluster.submit(ask, n, worker=n % 2, **options) for n in range(4)]
    results = cluster.gather(futures)
    assert [result for result, _, _ in results] == [42, 43, 44, 45]
    assert len({prefix for _, prefix, _ in results}) == 2
    assert {colour for _, _, colour in results} == {"red"}
    assert [entry[0] for entry in cluster.gather(cluster.map(ask, [7], **options))] == [49]


def raises(word: str) -> None:
    raise KeyError(word)


def test_what_is_raised_in_an_environment_is_raised_here(
    cluster: fs.Cluster, environment: fs.File
) -> None:
    with pytest.raises(KeyError, match="there"):
        cluster.submit(raises, "there", environment=environment).result(60)


def test_an_archive_without_an_environment_is_reported(cluster: fs.Cluster, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    archive = archive_of(tmp_path / "in", tmp_path / "empty.tar.gz")
    with pytest.raises(ValueError, match="holds no environment"):
        cluster.submit(abs, -1, environment=archive).result(60)


def test_missing_cloudpickle_is_reported(cluster: fs.Cluster, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")]
    subprocess.run(words, check=True, timeout=100)
    archive = archive_of(tmp_path / "env", tmp_path / "bare.tar.gz")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        cluster.submit(abs, -1, environment=archive).result(60)
    assert "has no cloudpickle: install it there" in "".join(caught.value.__notes__)


def test_variables_are_set_for_one_call(cluster: fs.Cluster) -> None:
    red = cluster.submit(os.getenv, "COLOUR", env={"COLOUR": "red"}, worker=0)
    assert red.result(60) == "red"
    assert cluster.submit(os.getenv, "COLOUR", worker=0).result(60) is None


def test_calls_are_cancelled_by_their_tag(cluster: fs.Cluster, tmp_path: Path) -> None:
    def wait(path: str, number: int) -> int:
        import time

        while not os.path.exists(path):
            time.sleep(0.01)
        return number

    # One that could end by itself might do so before it hears that it is cancelled.
    go, never = tmp_path / "go", str(tmp_path / "never")
    unwanted = [cluster.submit(wait, never, n, tag="unwanted") for n in range(3)]
    unwanted += cluster.map(wait, [never] * 3, range(3, 6), tag="unwanted")
    wanted = cluster.submit(wait, str(go), 99)
    cluster.cancel(tag="unwanted")
    assert all(future.cancelled() for future in unwanted)
    cluster.cancel(tag="nobody has this one")
    with pytest.warns(UserWarning, match="had the tag 'unwantd'; did you mean 'unwanted'?"):
        cluster.cancel(tag="unwantd")
    with pytest.raises(TypeError, match=r"tag=3 \(int\): give a text"):
        cluster.cancel(tag=3)  # type: ignore[arg-type]
    go.touch()
    assert wanted.result(60) == 99
    for future in unwanted:
        with pytest.raises(fs.FreestoneError, match="cancelled"):
            future.result(60)


def fill_with(folder: str, nbytes: int) -> None:
    (Path(folder) / "data").write_bytes(bytes(nbytes))


def size_of(folder: str) -> int:
    return os.path.getsize(os.path.join(folder, "data"))


def test_a_folder_that_has_no_room_on_the_nodes_disk_is_refused() -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="1MiB") as cluster:
        small, large = fs.prepare(fill_with, 600_000), fs.prepare(fill_with, 600_001)
        assert cluster.submit(size_of, small).result(60) == 600_000
        with pytest.raises(StorageFullError) as caught:
            cluster.submit(size_of, large).result(60)
        assert caught.value.needed == 600_001
        assert 440_000 < caught.value.free <= 2**20 - 600_000
        # Nothing of it is left, and what was there is.
        assert cluster.submit(size_of, fs.prepare(fill_with, 400_000)).result(60) == 400_000
        assert cluster.submit(size_of, small, pure=False).result(60) == 600_000


def test_a_forked_child_that_ends_leaves_its_parents_folders(tmp_path: Path) -> None:
    script = """
        import os, sys, weakref
        from freestone.client import environments
        from freestone.client.files import Scratch
        scratch, own = Scratch(), environments._own_folder()
        if (child := os.fork()) == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        print(os.path.isdir(scratch.path), os.path.isdir(own), scratch.path, own)
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    reported = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout
    scratch, own, *paths = reported.split()
    assert (scratch, own) == ("True", "True")
    assert not any(os.path.exists(path) for path in paths)
