"""Opening a cluster removes nothing that freestone has not made, and nothing that is in use."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs
from freestone import _native
from freestone.errors import ClusterStartError
from freestone.hosts import folders
from freestone.hosts.folders import Folders

SIZES = {"workers": 1, "executors": 1, "memory": "64MiB", "disk": "64MiB"}


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders that stand for those in /tmp and in shared memory."""
    base = tmp_path / "base"
    base.mkdir(mode=0o700)
    (tmp_path / "memory").mkdir(mode=0o700)
    monkeypatch.setattr(folders, "_memory_dir", lambda: tmp_path / "memory")
    return base


@pytest.mark.parametrize("name", ["2024-results", "12345", "99999999-0011aabb"])
def test_folders_of_the_user_stay(base: Path, name: str) -> None:
    precious = base / name / "year" / "data"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    with fs.Cluster(folder=str(base), **SIZES) as cluster:
        assert cluster.submit(abs, -1).result(60) == 1
    assert precious.read_text() == "mine"
    assert os.listdir(base) == [name]
    assert os.listdir(base.parent / "memory") == []


def test_what_a_dead_cluster_left_is_removed_by_the_next(base: Path) -> None:
    dead, alive = Folders.create(base), Folders.create(base)
    for left in (dead, alive):
        (left.path / "disk-0").mkdir()
        (left.memory / "block").write_bytes(b"bytes")
    # As when its process ends, however it ends.
    dead.forget()
    new = Folders.create(base)
    assert [path.exists() for path in (dead.path, dead.memory)] == [False, False]
    assert (alive.memory / "block").read_bytes() == b"bytes"
    for used in (alive, new):
        used.remove()
    assert os.listdir(base) == os.listdir(base.parent / "memory") == []


def test_links_in_a_folder_that_is_swept_are_not_followed(base: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "data").write_text("mine")
    dead = Folders.create(base)
    for folder in (dead.path, dead.memory):
        (folder / "folder").symlink_to(mine)
        (folder / "file").symlink_to(mine / "data")
    (base / "1234-planted").symlink_to(mine)
    dead.forget()
    Folders.create(base).remove()
    assert not dead.path.exists()
    assert (mine / "data").read_text() == "mine"
    assert os.listdir(base) == ["1234-planted"]


def test_a_base_that_is_a_link_is_refused(base: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(base)
    with pytest.raises(ClusterStartError, match="no link, that is yours"):
        Folders.create(link)
    # What the user names may be one.
    with fs.Cluster(folder=str(link), **SIZES) as cluster:
        assert cluster.folder.startswith(str(base))


def test_a_base_that_others_may_enter_will_do_and_one_that_they_may_write_to_is_refused(
    base: Path,
) -> None:
    base.chmod(0o755)
    made = Folders.create(base)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    made.remove()
    base.chmod(0o775)
    with pytest.raises(ClusterStartError, match="only you may write to: chmod go-w"):
        Folders.create(base)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_folders_of_others_are_left_alone_and_not_used(base: Path) -> None:
    dead = Folders.create(base)
    dead.forget()
    os.chown(dead.path, 12345, -1)
    Folders.create(base).remove()
    assert dead.path.exists()
    os.chown(base, 12345, -1)
    with pytest.raises(ClusterStartError, match="that is yours"):
        Folders.create(base)


def test_a_forked_child_keeps_no_lock(base: Path) -> None:
    made = Folders.create(base)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        made.forget()
        os.write(write, b"x")
        signal.pause()
    try:
        assert os.read(read, 1) == b"x"
        assert _native.folders.is_folder_in_use(str(made.path))
        made.forget()
        assert not _native.folders.is_folder_in_use(str(made.path))
        Folders.create(base).remove()
        assert not made.path.exists()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


OTHER_CONTAINER = """
    import sys
    from pathlib import Path
    from freestone.hosts import folders
    base = Path(sys.argv[1])
    folders._memory_dir = lambda: base.parent / "memory"
    made = folders.Folders.create(base)
    (made.memory / "block").write_bytes(b"theirs")
    print(made.path, flush=True)
    sys.stdin.readline()
    print((made.memory / "block").read_bytes() == b"theirs" and made.path.exists(), flush=True)
"""


@pytest.fixture
def container(base: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in a process namespace of its own, which has folders in the same base."""
    unshare = ["unshare", "-p", "-f", "--mount-proc"]
    try:
        subprocess.run([*unshare, "true"], check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("this machine lets nobody make a process namespace (unshare -p)")
    script = [sys.executable, "-c", textwrap.dedent(OTHER_CONTAINER), str(base)]
    process = subprocess.Popen(
        [*unshare, *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def test_folders_of_another_process_namespace_stay(
    base: Path, container: subprocess.Popen[str]
) -> None:
    assert container.stdin is not None
    assert container.stdout is not None
    theirs = Path(container.stdout.readline().strip())
    # Its process has a small number there, which here is another process or none.
    assert int(theirs.name.partition("-")[0]) < 10
    Folders.create(base).remove()
    assert theirs.exists()
    container.stdin.write("\n")
    container.stdin.flush()
    assert container.stdout.readline() == "True\n"
    container.wait(60)
    Folders.create(base).remove()
    assert not theirs.exists()
