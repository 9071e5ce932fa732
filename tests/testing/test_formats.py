"""The formats of the package pass the kit, and formats that are wrong do not."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from freestone.io.formats import FORMATS
from freestone.testing import check_format
from tests.extend.installing import EXAMPLES, add_metadata

MATRIX = np.arange(21.0).reshape(7, 3) / 7
SPARSE = scipy.sparse.random_array((9, 4), density=0.4, format="csr", rng=np.random.default_rng(7))
TABLE = pa.table({"n": np.arange(7), "x": np.arange(7) / 7})
TEXTS = TABLE.append_column("name", pa.array([f"row {n}" for n in range(7)]))
VALUES: dict[str, list[Any]] = {
    "csv": [MATRIX, TABLE],
    "dbdf": [MATRIX, SPARSE, TABLE],
    "mtx": [MATRIX, SPARSE],
    "npy": [MATRIX, MATRIX[:, 0], np.arange(24).reshape(6, 2, 2)],
    "npz": [MATRIX, SPARSE, np.arange(24).reshape(6, 2, 2)],
    "parquet": [MATRIX, TEXTS],
    "arrow": [MATRIX, TEXTS],
    "arrows": [MATRIX, TEXTS],
    "zarr": [MATRIX, np.arange(24).reshape(6, 2, 2)],
    "tdms": [MATRIX, TABLE],
    "hdf5": [MATRIX, TEXTS, np.arange(24).reshape(6, 2, 2)],
    "netcdf": [MATRIX, TEXTS, np.arange(24).reshape(6, 2, 2)],
    "root": [MATRIX, TABLE],
    "jsonl": [TEXTS],
    "orc": [TEXTS],
    "avro": [TEXTS],
}
TEXT = ("csv", "jsonl")


@pytest.mark.parametrize("name", VALUES)
def test_a_format_of_the_package_passes(tmp_path: Path, name: str) -> None:
    check_format(name, tmp_path, VALUES[name], only_paths=name == "zarr", is_text=name in TEXT)


def test_each_format_that_is_written_is_checked() -> None:
    formats = {name: import_module(f"freestone.io.formats.{name}").FORMAT for name in FORMATS}
    assert {name for name, format in formats.items() if format.open_writer} == {*VALUES}


@pytest.mark.parametrize("name", FORMATS)
def test_the_table_of_suffixes_is_that_of_the_formats(name: str) -> None:
    format = import_module(f"freestone.io.formats.{name}").FORMAT
    assert (format.name, format.suffixes) == (name, FORMATS[name])


MISTAKES = {
    "offset = HEADER.size + start * int(self.row_nbytes)": (
        "offset = HEADER.size",
        "value-0 as one block: rows 1:3",
    ),
    "stamp=stamp,": ("stamp=(stamp[0],),", "one block: FileChangedError: .*its size or time"),
    "location.source(stamp), 0": ("location.path, 0", "from a store with no paths: "),
    "return [8 * rows * self.shape.width]": (
        "return [8 * rows]",
        "7 rows from row 0 gives .168. bytes, and sizes.7. says .56.",
    ),
    'reshape(-1).view("u1")]': ('T.reshape(-1).view("u1")]', "one block: rows 0:7"),
    'raise FormatError(location.url, f"it': (
        'raise ValueError(f"it',
        "cut to 0 of .* comes ValueError",
    ),
    'suffixes=(".grid",)': ('suffixes=("grid",)', "the suffix 'grid' is no dot"),
    '".grid",': ('".npy",', "'file.npy' is a file of 'npy', and not of 'grid'"),
}


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str) -> None:
    wrong, problem = MISTAKES[right]
    source = (EXAMPLES / "format" / "freestone_grid.py").read_text()
    assert source.count(right) == 1
    module = f"wrong_grid_{list(MISTAKES).index(right)}"
    (tmp_path / f"{module}.py").write_text(source.replace(right, wrong))
    add_metadata(tmp_path, module, {"freestone.formats": {"grid": f"{module}:FORMAT"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AssertionError, match=problem):
        check_format("grid", tmp_path)


def test_a_check_without_values_or_a_format_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there are no values to check the format with"):
        check_format("npy", tmp_path, [])
    with pytest.raises(AssertionError, match="the format 'nonexist': UsageError: "):
        check_format("nonexist", tmp_path)
