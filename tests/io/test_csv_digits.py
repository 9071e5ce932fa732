"""Integers beyond 2^53 in CSV, in columns that are of floats because of other cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FormatError

ROUNDED = "9007199254740993"


def read(path: Path, cell: str, **options: Any) -> list[Any]:
    path.write_text(f"n,id\na,1.5\nb,{cell}\nc,\n")
    found: list[Any] = fs.read(path, **options).compute()["id"].to_pylist()
    return found


@pytest.mark.parametrize("cell", [ROUNDED, f"-{ROUNDED}", f" {ROUNDED} ", "18446744073709551615"])
@pytest.mark.parametrize("options", [{}, {"missing": ["c"]}], ids=str)
def test_what_floats_round_is_refused(cell: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    reason = rf"row 3, column 2: .{cell}. has more digits.*types=.'id': 'str'. keeps"
    with pytest.raises(FormatError, match=reason):
        read(path, cell, **options)
    assert read(path, cell, types={"id": "str"}) == ["1.5", cell, None]
    assert read(path, cell, types={"id": "f8"}) == [1.5, float(cell), None]


# JavaScript writes the shortest digits of a float, and zeros behind them.
@pytest.mark.parametrize("cell", ["9007199254740992", "123456789012345680", "1e300", "inf", "nan"])
def test_what_floats_keep_is_read(cell: str, tmp_path: Path) -> None:
    np.testing.assert_equal(read(tmp_path / "a.csv", cell), [1.5, float(cell), None])


def test_a_column_of_integers_alone_has_all_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"n,id\na,1\nb,{ROUNDED}\n")
    assert fs.read(path).compute()["id"].to_pylist() == [1, int(ROUNDED)]


def test_rows_are_named_in_any_block(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;n;\n" + "0.5;a;\n" * 40 + f"{ROUNDED};b;\n" + "2;c;\n" * 40)
    with pytest.raises(FormatError, match="row 42, column 1"):
        fs.read(path, block_rows=20).compute()
    with pytest.raises(FormatError, match="row 42, column 1"):
        fs.read([path, path], columns=["id"]).compute()
