"""The command line takes what `fs.read` takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import freestone as fs
from freestone.cli import main


def test_many_files_become_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"x,y\n{number},a\n")
    out = tmp_path / "all.parquet"
    assert main(["convert", f"{tmp_path}/*.csv", str(out), "--columns", "y,x"]) == 0
    assert fs.read(out).compute().to_pydict() == {"y": ["a"] * 3, "x": [0, 1, 2]}
    two = [str(tmp_path / "2.csv"), str(tmp_path / "0.csv")]
    assert main(["convert", *two, str(out)]) == 0
    assert fs.read(out).compute()["x"].to_pylist() == [2, 0]
    assert "2 x 2" in capsys.readouterr().out
    assert main(["convert", *two, str(out), "--columns", "z"]) != 0
    assert 'no column "z"' in capsys.readouterr().err
