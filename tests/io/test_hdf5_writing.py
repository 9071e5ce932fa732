"""HDF5 that is written."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError

h5py = pytest.importorskip("h5py")

ARRAYS = [
    np.arange(24.0).reshape(6, 4),
    np.arange(24, dtype="i2").reshape(6, 2, 2),
    np.arange(6) % 2 == 0,
    np.arange(6, dtype="c8"),
    np.array(["a", "é" * 5, "", "b", "c", "d"]),
    np.zeros((0, 3)),
]
TABLE = pl.DataFrame(
    {
        "z": [1, 2, 3, 4],
        "a": [1.5, float("nan"), 3.0, 4.0],
        "text": ["x", "é", "", "yy"],
        "is": [True, False, True, True],
        "kind": pl.Series(["u", "v", "u", "u"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_arrays_come_back(tmp_path: Path, x: Any, compression: str | None) -> None:
    path = tmp_path / "x.h5"
    halves = [x[: len(x) // 2], x[len(x) // 2 :]] if len(x) else [x]
    fs.write(fs.Array.from_blocks(halves), path, compression=compression)
    found = fs.read(path).compute()
    np.testing.assert_array_equal(found, x)
    assert found.dtype.kind == x.dtype.kind
    with h5py.File(path) as file:
        assert list(file) == ["data"]
        assert file["data"].compression == (compression if len(x) else None)


def test_frames_are_groups_of_datasets(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    fs.write(fs.Frame.from_polars(TABLE, 3), path, dataset="run/one")
    with h5py.File(path) as file:
        assert list(file["run/one"]) == TABLE.columns
    found = fs.read(path, dataset="run/one").to_polars()
    assert found.equals(TABLE.with_columns(pl.col("kind").cast(str)))
    fs.write(TABLE.select("z"), path)
    assert fs.read(path).to_polars().equals(TABLE.select("z"))
    fs.write(TABLE, path)
    assert fs.read(path, columns=["a"], where=[("z", ">", 2)]).to_polars()["a"].to_list() == [3, 4]


def test_missing_floats_are_nan(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    fs.write(pl.DataFrame({"x": [1.0, None, 3.0], "n": [1, 2, 3]}), path)
    np.testing.assert_array_equal(fs.read(path).to_polars()["x"], [1, np.nan, 3])


@pytest.mark.parametrize(
    ("value", "options", "reason"),
    [
        (TABLE.with_columns(z=pl.lit(None, pl.Int64)), {}, "'z' of int64 has missing values"),
        (pa.table({"x\0y": [1]}), {}, "can be called 'x.x00y'"),
        (pa.table({"s": ["a", "b\0c"]}), {}, "column 's' has a text with a NUL"),
        (pa.table([[1], [2]], ["a", "a"]), {}, "two columns are called 'a'"),
        (pl.DataFrame({"d": [datetime.date(2024, 1, 1)]}), {}, "column 'd' is of date32"),
        (TABLE.rename({"a": "m/s"}), {}, "can be called 'm/s'"),
        (np.array(["2024-01-01"], "M8[D]"), {}, "the array is of datetime64"),
        (np.ones(3), {"dataset": "/"}, "a path in the file"),
        (np.ones(3), {"compression": "zip"}, "'gzip', 'lzf' or None"),
        (np.ones(3), {"group": "x"}, "there are: dataset, compression"),
    ],
)
def test_what_it_has_no_form_for_is_refused(
    tmp_path: Path, value: Any, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        fs.write(value, tmp_path / "x.h5", **options)
    assert os.listdir(tmp_path) == []


def test_a_link_to_nothing_is_no_dataset(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["a"] = np.arange(3)
        file["gone"] = h5py.SoftLink("/nowhere")
    assert fs.read(path).compute().tolist() == [0, 1, 2]
    for name in ("gone", "b"):
        with pytest.raises(UsageError, match="'a'"):
            fs.read(path, dataset=name)


def test_texts_of_another_encoding_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["g/s"] = np.array([b"\xff", b"a"])
        file["g/n"] = [1, 2]
    with pytest.raises(FormatError, match=r"x\.h5 can't be used: 'g/s' has texts .* as bytes"):
        fs.read(path, dataset="g").compute()
    assert fs.read(path, dataset="g", columns=["n"]).to_polars()["n"].to_list() == [1, 2]
    assert fs.read(path, dataset="g/s").compute().tolist() == [b"\xff", b"a"]
