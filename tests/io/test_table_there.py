"""Every cell of the table of formats, by two workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.cli.main import main
from freestone.errors import UsageError
from freestone.lang.run.kernels import files
from tests.io import table
from tests.lang.scripts import printed_on

CELLS, HOLDS = table.CELLS, table.HOLDS


@pytest.mark.parametrize(("kind", "format"), CELLS)
def test_a_cell(two_workers: fs.Cluster, tmp_path: Path, kind: str, format: str) -> None:
    table.need(format)
    path = tmp_path / f"x.{format}"
    given = table.blocks_of(kind, 17)
    if format not in HOLDS[kind]:
        with pytest.raises(UsageError):
            fs.write(given, path)
        assert not table.left(tmp_path)
        return
    fs.write(given, path)
    assert table.left(tmp_path) == [path.name]
    read = fs.read(path, block_rows=13, **table.options_of(kind))
    assert len(read.blocks) == 5
    table.check(kind, read.compute())
    assert read.client is two_workers.client


@pytest.mark.parametrize(("kind", "format"), table.cells("dense", "csr"))
def test_scripts_on_blocks_read_and_write_each(
    two_workers: fs.Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    format: str,
) -> None:
    table.need(format)
    path, copy = tmp_path / f"a.{format}", tmp_path / "below" / f"b.{format}"
    fs.write(table.VALUES[kind], path)

    def refused(*words: Any) -> Any:
        raise AssertionError("it was read by the script's process")

    monkeypatch.setattr(files, "_loaded", refused)
    printed_on(
        two_workers,
        f'X = readMatrix("{path}"); writeMatrix(X, "{copy}");',
        select_matrix_repr=True,
        sparsity_threshold=0.5,
    )
    table.check(kind, fs.read(copy).compute())


@pytest.mark.parametrize(("kind", "format"), table.cells(*table.VALUES))
def test_convert_by_workers(tmp_path: Path, kind: str, format: str) -> None:
    table.need(format)
    first, there = tmp_path / "a.csv", tmp_path / f"b.{format}"
    words = [f"--read={name}={value}" for name, value in table.options_of(kind).items()]
    fs.write(table.VALUES[kind], first)
    assert main(["convert", "--workers", "2", *words, str(first), str(there)]) == 0
    table.check(kind, fs.read(there, **table.options_of(kind)).compute())
