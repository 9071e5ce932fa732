"""CSV files with comments, blank lines or padding, of which each process reads its own pieces."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FileChangedError
from freestone.io import open_dataset
from freestone.io.formats import csv_tidying
from freestone.io.formats.csv_tidying import CutLocation, TidyLocation
from freestone.io.stores import locate

LINES = st.sampled_from(
    ["1,2", "", "# c", " # it's 5\" long", '"a\n# b",2', '"a ""x"" \n\n",2', "  3   4 ", "\r"]
)
FORMS: list[dict[str, Any]] = [
    {"comment": "#"},
    {"has_blanks": False},
    {"is_padded": True},
    {"comment": "#", "has_blanks": False},
    {"comment": "#", "has_blanks": False, "is_padded": True},
]


@pytest.fixture
def pieces_of_64_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_tidying, "PIECE_NBYTES", 64)


@given(st.lists(LINES, max_size=40), st.integers(0, 2), st.sampled_from(FORMS))
def test_pieces_are_those_of_the_whole(lines: list[str], above: int, form: dict[str, Any]) -> None:
    raw = "\n".join(lines).encode()
    file = TidyLocation(
        "memory://x.csv",
        locate("memory://x.csv"),
        above=above,
        **form,
    )
    whole = file.decoded(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tidying, "PIECE_NBYTES", 16)
        cut = file.decoded(raw)
    assert bytes(cut) == bytes(whole)
    locate("memory://x.csv").write_bytes(raw)
    read = CutLocation(**vars(file), cuts=cut.cuts)
    if len(cut.cuts) > 1:
        assert b"".join(read.read_piece(n, (0,)) for n in range(len(cut.cuts) - 1)) == bytes(whole)


@pytest.mark.usefixtures("pieces_of_64_bytes")
@pytest.mark.parametrize(
    "options",
    [
        {"text": "# c\nx,n\n{}", "line": "{n}.5,{n}", "every": "# c", "comment": "#"},
        {"text": "x,n\n{}", "line": "{n}.5,{n}", "every": ""},
        {"text": "x  n\n{}", "line": "  {n}.5   {n}", "every": "", "separator": r"\s+"},
        {"text": "title\nx,n\n{}", "line": '"{n}.5",{n}', "every": "", "skip": 1},
    ],
    ids=["comments", "blank lines", "padding", "quotes"],
)
def test_workers_decode_the_pieces_of_their_rows(
    two_workers: fs.Cluster, tmp_path: Path, options: dict[str, Any]
) -> None:
    text, line, every = (options.pop(name) for name in ("text", "line", "every"))
    lines = [line.format(n=n) for n in range(1000)]
    for at in range(0, 1000, 100):
        lines[at] = f"{every}\n{lines[at]}"
    path = tmp_path / "t.csv"
    path.write_text(text.format("\n".join(lines)))
    found = fs.read(path, block_rows=100, **options)
    assert len(found.blocks) == 10
    assert found.compute()["n"].to_pylist() == list(range(1000))
    assert found.compute()["x"].to_pylist() == [n + 0.5 for n in range(1000)]


def test_rows_need_few_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_tidying, "PIECE_NBYTES", 1 << 16)
    path = tmp_path / "t.csv"
    path.write_text("# c\n" + "".join(f"{n},{n:0100}\n" for n in range(100_000)))
    dataset = open_dataset(path, comment="#", header=False)
    assert dataset.unit_rows == 1
    read: list[int] = []
    whole = CutLocation.read_piece

    def counted(self: CutLocation, number: int, stamp: tuple[Any, ...]) -> bytes:
        read.append(number)
        return whole(self, number, stamp)

    monkeypatch.setattr(CutLocation, "read_piece", counted)
    np.testing.assert_array_equal(dataset.read(50_000, 50_002)[:, 0], [50_000, 50_001])
    # Line ends are known for every MiB.
    assert 0 < len({*read}) < len(dataset.location.cuts) / 4


@pytest.mark.usefixtures("pieces_of_64_bytes")
def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# c\n" + "1,2\n" * 1000)
    dataset = open_dataset(path, comment="#", header=False)
    path.write_text("# c\n# c\n" + "1,2\n" * 999)
    with pytest.raises(FileChangedError):
        dataset.read(10, 12)
    # The same for a store that can't tell versions.
    stamp = dataset.location.stamp()
    with pytest.raises(FileChangedError, match="a part of it"):
        replace(dataset, stamp=stamp).read(0, 1000)


@pytest.mark.usefixtures("pieces_of_64_bytes")
def test_compressed_files_are_decoded_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"# c\n" + b"1,2\n" * 1000))
    dataset = open_dataset(path, comment="#", header=False)
    assert dataset.unit_rows == 1000
    assert dataset.read(998, 1000).tolist() == [[1, 2], [1, 2]]
    assert os.listdir(tmp_path) == ["t.csv.gz"]
