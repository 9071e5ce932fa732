"""The command line takes what `fs.read` takes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
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


def test_it_says_where_the_names_of_columns_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.parquet", tmp_path / "a.csv"
    fs.write(fs.Frame.from_table({"n": [1]}, 1), source)
    for words, says in ([], True), (["--write", "header=true"], False):
        assert main(["convert", str(source), str(out), *words]) == 0
        assert (f"named in {out}.meta" in capsys.readouterr().out) == says
        assert out.read_text().startswith("n\n") != says


def test_what_is_read_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, link = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("id\n007\n")
    link.symlink_to(source)
    for given, out in ((source, source), (source, link), (f"{tmp_path}/*.csv", source)):
        assert main(["convert", str(given), str(out)]) == 2
        assert f"{out} is read itself" in capsys.readouterr().err
    assert source.read_text() == "id\n007\n"


def test_keys_given_twice_are_lists(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    source, out = tmp_path / "a.npy", tmp_path / "a.nc"
    fs.write(np.arange(2.0), source)
    words = ["--write", "coordinates.dim_0=5", "--write", "coordinates.dim_0=6"]
    assert main(["convert", str(source), str(out), *words]) == 0
    with xr.open_dataset(out) as found:
        assert found["dim_0"].to_numpy().tolist() == [5, 6]


WANTED = [
    (["n >= 2"], [2, 3]),
    (["n>1", "word == b"], [2]),
    (["word in a,c"], [1, 3]),
    (["word  not  in 'a', b"], [3]),
    (["day < 2024-02-01"], [1]),
    (["x != 0.5"], [2, 3]),
    (["is set == true"], [1, 3]),
]


@pytest.mark.parametrize(("where", "expected"), WANTED)
def test_rows_are_chosen(tmp_path: Path, where: list[str], expected: list[int]) -> None:
    rows = {
        "n": [1, 2, 3],
        "word": ["a", "b", "c"],
        "day": [date(2024, month, 1) for month in (1, 2, 3)],
        "x": [0.5, 1.5, 2.5],
        "is set": [True, False, True],
    }
    fs.write(fs.Frame.from_table(rows, 3), tmp_path / "a.parquet")
    words = [word for each in where for word in ("--where", each)]
    out = tmp_path / "b.parquet"
    assert main(["convert", str(tmp_path / "a.parquet"), str(out), *words]) == 0
    assert fs.read(out).compute()["n"].to_pylist() == expected


def test_what_is_no_comparison_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    given, out = str(tmp_path / "a.csv"), str(tmp_path / "b.parquet")
    assert main(["convert", given, out, "--where", "n ~ 3"]) != 0
    assert "--where 'n ~ 3' is no comparison; write" in capsys.readouterr().err
    assert main(["convert", given, out, "--where", "m > 3"]) != 0
    assert 'no column "m"' in capsys.readouterr().err
    assert not (tmp_path / "b.parquet").exists()
