"""Files of a web server, read by this process: those without ranges, and what servers refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FileError, FileUnreadableError
from freestone.io import open_dataset, raw
from freestone.io.stores import remote
from tests.io.test_http import Server, X, server

__all__ = ["server"]


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy", "mtx", "parquet", "arrow"])
def test_a_server_that_gives_whole_files_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As that of Python's library does: what comes is not what was asked for."""
    monkeypatch.setattr(raw, "STEP", 100_000)
    server.ranges = False
    fs.write(X, tmp_path / f"m.{kind}")
    url = f"http://127.0.0.1:{server.server_port}/m.{kind}"
    array = fs.read(url)
    np.testing.assert_array_equal(array.compute(), X)
    # Beside a `.meta`, which is asked for and read.
    assert len([nbytes for nbytes in server.given if nbytes > 100]) == 1
    np.testing.assert_array_equal(open_dataset(url).read(700, 9_000), X[700:9_000])


def test_a_large_file_of_such_a_server_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MAX_WHOLE", 100_000)
    server.ranges = False
    fs.write(X, tmp_path / "m.npy")
    url = f"http://127.0.0.1:{server.server_port}/m.npy"
    with pytest.raises(FileError, match=r"m\.npy.*copy it to this machine first"):
        fs.read(url)


def test_text_is_fetched_once(server: Server, tmp_path: Path) -> None:
    fs.write(X, tmp_path / "m.csv", meta=False)
    nbytes = (tmp_path / "m.csv").stat().st_size
    url = f"http://127.0.0.1:{server.server_port}/m.csv"
    np.testing.assert_array_equal(fs.read(url).compute(), X)
    assert sum(server.given) == nbytes
    server.given.clear()
    # A larger one is fetched part by part, once for where rows begin.
    whole, part = open_dataset(url).read(0, len(X)), sum(server.given)
    np.testing.assert_array_equal(whole, X)
    assert part >= 2 * nbytes


@pytest.mark.parametrize(
    ("status", "kind", "match"),
    [(403, FileUnreadableError, "permissions"), (500, FileError, "500")],
)
def test_what_a_web_server_says_is_reported(
    server: Server, tmp_path: Path, status: int, kind: type, match: str
) -> None:
    fs.write(X[:3], tmp_path / "m.npy")
    server.status = status
    with pytest.raises(kind, match=match):
        fs.read(f"http://127.0.0.1:{server.server_port}/m.npy")


def test_a_web_server_that_is_not_there() -> None:
    with pytest.raises(FileError, match="can't be read: Cannot connect"):
        fs.read("http://127.0.0.1:1/m.npy")
