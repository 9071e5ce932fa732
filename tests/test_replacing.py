"""Files that take the place of others, and what no file replaces."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from freestone.demo import resample
from freestone.errors import FileError, FreestoneError
from freestone.hosts.access import Access
from freestone.observe import trace
from freestone.observe.chrome import write as write_chrome
from freestone.observe.journal import Journal
from freestone.replacing import replaceable, replaced


def written(path: Path) -> None:
    with replaced(path) as partial:
        partial.write_text("new")


def test_links_are_followed_also_to_what_is_not_there_yet(tmp_path: Path) -> None:
    link, chain, far = tmp_path / "link", tmp_path / "chain", tmp_path / "far" / "file"
    link.symlink_to("far/file")
    chain.symlink_to(link)
    for _ in range(2):
        written(chain)
        assert far.read_text() == "new"
        far.write_text("old")
    assert link.is_symlink()
    assert chain.is_symlink()
    assert os.listdir(far.parent) == ["file"]


def test_what_fails_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), replaced(path) as partial:
        partial.write_text(None)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_no_file_takes_the_place_of_something_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name, kind in (("pipe", "pipe"), ("link", "pipe"), ("socket", "socket")):
            with pytest.raises(FileError, match=rf"{name} is a {kind}, and no file can take"):
                written(tmp_path / name)
    with pytest.raises(FileError, match="null is a device"):
        replaceable(os.devnull)
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        written(tmp_path)
    (tmp_path / "around").symlink_to("around")
    with pytest.raises(OSError, match="around"):
        written(tmp_path / "around")
    reader, writer = os.pipe()
    # Where a link to an open pipe leads is no path.
    with open(reader), open(writer), pytest.raises(FileError, match="is a pipe"):
        written(Path(f"/proc/self/fd/{writer}"))
    assert sorted(os.listdir(tmp_path)) == ["around", "link", "pipe", "socket"]


class Nothing:
    """A recorder, and its watch, of a run in which nothing happens."""

    def watch(self, *, wants_beginning: bool) -> Nothing:
        assert wants_beginning
        return self

    def take(self) -> list[Any]:
        return []

    def stop(self) -> None:
        pass


ACCESS = Access(address="unix:/nowhere", key="k")
WRITERS: dict[str, Callable[[Path], object]] = {
    "a trace": lambda path: trace.write(path, []),
    "a trace that goes on": lambda path: Journal(path, Nothing()).close(),  # type: ignore[arg-type]
    "a timeline": lambda path: write_chrome(path, [], "ns"),
    "an access file": ACCESS.write,
}


@pytest.mark.parametrize("what", WRITERS)
def test_whatever_writes_leaves_pipes_and_follows_links(tmp_path: Path, what: str) -> None:
    pipe, link, file = tmp_path / "pipe.jsonl", tmp_path / "link.jsonl", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    with pytest.raises(FreestoneError, match=r"pipe\.jsonl is a pipe, and no file"):
        WRITERS[what](pipe)
    assert pipe.is_fifo()
    WRITERS[what](link)
    assert link.is_symlink()
    assert file.is_file()
    assert sorted(os.listdir(tmp_path)) == ["file", "link.jsonl", "pipe.jsonl"]


def test_pairs_are_written_where_a_link_leads(tmp_path: Path) -> None:
    np, _ = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    link = tmp_path / "pairs.parquet"
    link.symlink_to("file")
    resample.write_pairs(link, np.ones((3, 2, 4)), np.arange(3))
    assert resample.read_pairs(tmp_path / "file").shape == (3, 2, 4)
    assert link.is_symlink()
