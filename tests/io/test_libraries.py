"""Round trips through the formats of libraries, of any type and shape, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from tests.io.table import need

QUICK = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
CODES = {
    "parquet": [*NUMBERS, "?"],
    "arrow": [*NUMBERS, "?"],
    "zarr": [*NUMBERS, "?", "c16"],
    "tdms": NUMBERS,
    "root": NUMBERS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


@QUICK
@given(data=st.data(), rows=st.integers(1, 30), columns=st.integers(1, 5))
@pytest.mark.parametrize("format", CODES)
def test_matrices(folder: Path, data: st.DataObject, format: str, rows: int, columns: int) -> None:
    need(format)
    x = data.draw(hnp.arrays(data.draw(st.sampled_from(CODES[format])), (rows, columns)))
    path = folder / f"m.{format}"
    fs.write(x, path)
    back = fs.read(path).compute()
    assert (back.dtype, back.shape, back.tobytes()) == (x.dtype, x.shape, x.tobytes())


def columns_of(rows: int, format: str) -> Any:
    numbers = [st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)]
    plain = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
    kinds = numbers if format == "root" else [*numbers, plain]
    lists = [st.lists(kind, min_size=rows, max_size=rows) for kind in kinds]
    return st.lists(st.one_of(lists), min_size=1, max_size=4)


@QUICK
@given(data=st.data(), rows=st.integers(1, 30))
@pytest.mark.parametrize("format", ["parquet", "arrow", "tdms", "root"])
def test_frames(folder: Path, data: st.DataObject, format: str, rows: int) -> None:
    need(format)
    columns = data.draw(columns_of(rows, format))
    table = pa.table({f"column {at}": values for at, values in enumerate(columns)})
    path = folder / f"f.{format}"
    fs.write(table, path)
    assert fs.read(path).compute().to_pydict() == table.to_pydict()
