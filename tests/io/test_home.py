"""Paths in the user's home folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import freestone as fs


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def test_a_tilde_is_the_home_folder(home: Path) -> None:
    x = np.arange(6.0).reshape(3, 2)
    fs.write(x, "~/data.npy")
    fs.write(fs.Frame.from_table({"a": [1, 2], "b": ["x", "y"]}, 1), "~/t", partition_by="b")
    fs.write(fs.Frame.from_table({"a": [1, 2]}, 1), Path("~/one.parquet"))
    assert not list((home / "elsewhere").iterdir())
    assert (fs.read("~/data.npy").compute() == x).all()
    assert (fs.read(["~/data.npy", Path("~/data.npy")]).compute() == np.vstack([x, x])).all()
    for given in ("~/t", "~/t/*/*.parquet", "~/one.parquet", Path("~/*.parquet")):
        assert sorted(fs.read(given).compute()["a"].to_pylist()) == [1, 2]
    assert fs.file("~/data.npy").path == str(home / "data.npy")
    fs.Array.from_blocks([x]).to_zarr("~/x.zarr")
    assert (fs.Array.from_zarr("~/x.zarr").compute() == x).all()


def test_a_tree_of_a_file_at_home(home: Path) -> None:
    fs.write(fs.Frame.from_table({"x": [1.0, 2.0]}, 2), "~/t.root", tree="Events")
    assert fs.read("~/t.root:Events").compute()["x"].to_pylist() == [1.0, 2.0]


def test_an_error_names_the_path_that_was_meant(home: Path) -> None:
    with pytest.raises(fs.errors.FileMissingError, match=str(home)):
        fs.read("~/none.csv")
