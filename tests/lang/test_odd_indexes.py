"""Indexes and functions that once gave something else than NumPy's values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("index", [True, False, np.True_])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_index_by_a_truth_value_adds_an_axis(index: Any) -> None:
    found = fs.Array.from_numpy(X, 2)[index]
    np.testing.assert_array_equal(np.asarray(found), X[index])
    assert np.shape(found) == X[index].shape


def test_zeros_like_texts_are_empty() -> None:
    texts = np.array(["ab", "c"])
    found = np.zeros_like(fs.Array.from_numpy(texts, 1)).compute()
    assert found.tolist() == np.zeros_like(texts).tolist() == ["", ""]
    assert np.zeros_like(fs.Array.from_numpy(X, 1), dtype="U3").compute().tolist() == [["", ""]] * 3


def test_what_is_read_has_expressions_at_once(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    program = f"""
import freestone as fs
print(float((fs.read({str(tmp_path / "x.npy")!r}) * 2).sum().compute()))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=110
    )
    assert (ran.stdout, ran.stderr) == ("30.0\n", "")


@pytest.mark.parametrize("name", ["s.npy", "s.zarr"])
def test_structured_arrays_are_refused_by_writes(name: str, tmp_path: Path) -> None:
    x = np.array([(1, 2.0), (3, 4.0)], dtype=[("run", "i4"), ("mass", "f8")])
    with pytest.raises(fs.errors.UsageError, match="fields of structured arrays go as the columns"):
        fs.write(x, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []
