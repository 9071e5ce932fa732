"""Grids pass freestone's kit, and are read and written by workers."""

from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError
from freestone.testing import check_format


def test_grids_pass_the_kit(tmp_path: Path) -> None:
    check_format("grid", tmp_path)


def test_workers_write_and_read_grids(tmp_path: Path) -> None:
    x = np.arange(30.0).reshape(10, 3)
    with fs.Cluster(workers=2):
        fs.write(fs.Array.from_numpy(x, 4), tmp_path / "x.grid")
        found = fs.read(tmp_path / "x.grid", block_rows=3)
        assert (found.compute() == x).all()


def test_other_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="float64 only"):
        fs.write(np.arange(3), tmp_path / "x.grid")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.grid").write_bytes(b"1,2,3\n" * 9)
    with pytest.raises(FormatError, match="does not begin with"):
        fs.read(tmp_path / "x.grid")
