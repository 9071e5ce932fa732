"""Every cell of the table of formats, by this process: read, written, converted, in scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

import freestone as fs
from freestone.cli.main import main
from freestone.errors import FileError, FileMissingError, FormatError, UsageError
from tests.io import table
from tests.lang.scripts import printed

CELLS, FORMATS, HOLDS = table.CELLS, table.FORMATS, table.HOLDS


@pytest.mark.parametrize(("kind", "format"), CELLS)
def test_a_cell(tmp_path: Path, kind: str, format: str) -> None:
    table.need(format)
    path = tmp_path / f"x.{format}"
    if format not in HOLDS[kind]:
        with pytest.raises(UsageError):
            fs.write(table.VALUES[kind], path)
        assert not table.left(tmp_path)
        return
    fs.write(table.VALUES[kind], path)
    assert table.left(tmp_path) == [path.name]
    table.check(kind, fs.read(path, **table.options_of(kind)).compute())


@pytest.mark.parametrize(("kind", "format"), CELLS)
def test_convert_into_each_and_back(tmp_path: Path, kind: str, format: str) -> None:
    table.need(format)
    first, there, back = tmp_path / "a.csv", tmp_path / f"b.{format}", tmp_path / "c.csv"
    words = [f"--read={name}={value}" for name, value in table.options_of(kind).items()]
    fs.write(table.VALUES[kind], first)
    if format not in HOLDS[kind]:
        assert main(["convert", *words, str(first), str(there)]) == 2
        assert not there.exists()
        return
    assert main(["convert", *words, str(first), str(there)]) == 0
    assert main(["convert", *words, str(there), str(back)]) == 0
    assert back.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(("kind", "format"), table.cells("dense", "csr", "frame", "strings"))
def test_scripts_read_and_write_each(tmp_path: Path, kind: str, format: str) -> None:
    table.need(format)
    path, copy = tmp_path / f"a.{format}", tmp_path / "below" / f"b.{format}"
    fs.write(table.VALUES[kind], path)
    name = "Frame" if table.is_frame(kind) else "Matrix"
    printed(
        f'X = read{name}("{path}"); write{name}(X, "{copy}"); print(X);',
        select_matrix_repr=True,
        sparsity_threshold=0.5,
    )
    table.check(kind, fs.read(copy).compute())


@pytest.mark.parametrize("format", FORMATS)
def test_scripts_take_matrices_for_frames_and_back(tmp_path: Path, format: str) -> None:
    table.need(format)
    path = tmp_path / f"a.{format}"
    fs.write(table.DENSE, path)
    text = f'F = readFrame("{path}"); print(ncol(F)); print(sum(readMatrix("{path}")));'
    assert printed(text).split() == ["4", f"{table.DENSE.sum():g}"]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_no_such_file(tmp_path: Path, format: str) -> None:
    table.need(format)
    path = tmp_path / f"x.{format}"
    with pytest.raises(FileMissingError):
        fs.read(path)
    if format != "zarr":
        path.write_bytes(b"")
        with pytest.raises(FormatError, match=f"x.{format}"):
            fs.read(path)
        path.write_bytes(b"\x00\xff foreign \x93" * 50)
        with pytest.raises((FormatError, UsageError), match=f"x.{format}|UTF-8"):
            fs.read(path).compute()
        path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match=r"folder|no Zarr array"):
        fs.read(path)
    if format != "zarr":
        with pytest.raises(FileError, match="is a folder"):
            fs.write(table.DENSE, path)
        assert path.is_dir()


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_cut_off(tmp_path: Path, format: str) -> None:
    table.need(format)
    path = tmp_path / f"x.{format}"
    fs.write(table.DENSE, path)
    if format == "zarr":
        path = next(each for each in path.rglob("*") if each.is_file() and "json" not in each.name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises((FormatError, UsageError)):
        fs.read(tmp_path / f"x.{format}").compute()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.dbdf"])
def test_frames_of_polars_are_written(tmp_path: Path, name: str) -> None:
    pl = pytest.importorskip("polars", reason="the extra 'tables' is not installed")
    frame = pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    for x in (frame, frame.lazy()):
        fs.write(x, tmp_path / name)
        assert fs.read(tmp_path / name).compute().to_pydict() == frame.to_dict(as_series=False)
