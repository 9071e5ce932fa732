"""Trees of many ROOT files: real ones, and ones that are written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from skhep_testdata import data_path

import freestone as fs
from freestone.errors import MissingColumnError, UsageError
from freestone.io.formats.root import Entries
from freestone.io.many import Piece, Request, as_expression, describe, find_files, join_parts

HZZ = data_path("uproot-HZZ.root")


def test_branches_of_a_real_file(two_workers: fs.Cluster) -> None:
    found = fs.read(f"{HZZ}:events", columns=["NMuon", "MET_px"], block_rows=1000)
    with uproot.open(HZZ) as file:
        expected = file["events"].arrays(["NMuon", "MET_px"], library="np")
    assert [block.num_rows for block in found] == [1000, 1000, 421]
    table = found.compute()
    assert table.column_names == ["NMuon", "MET_px"]
    for name, values in expected.items():
        assert (table[name].to_numpy() == values).all()


def test_jagged_branches_of_the_rows_that_are_wanted(two_workers: fs.Cluster) -> None:
    found = fs.read(f"{HZZ}:events", columns=["Muon_Px"], where=[("NMuon", ">=", 3)]).compute()
    with uproot.open(HZZ) as file:
        events = file["events"].arrays(["NMuon", "Muon_Px"])
    assert found["Muon_Px"].to_pylist() == events[events.NMuon >= 3].Muon_Px.to_list()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        with uproot.recreate(tmp_path / f"{number}.root") as file:
            run = np.full(10, number, np.int32)
            file["Events"] = {"run": run, "x": np.arange(10.0) + 10 * number, "y": np.zeros(10)}
            file["Other"] = {"x": np.zeros(3)}
    return tmp_path


def test_a_tree_of_many_files(two_workers: fs.Cluster, folder: Path) -> None:
    found = fs.read(f"{folder}/*.root:Events", columns=["x"], where=[("run", "in", [0, 2])])
    assert found.compute()["x"].to_pylist() == [*range(10), *range(20, 30)]
    several = [f"{folder}/{number}.root:Events" for number in range(2)]
    assert fs.read(several, columns=["run"]).compute()["run"].to_pylist() == [0] * 10 + [1] * 10
    assert fs.read(f"{folder}/0.root:Other").compute().num_rows == 3


def test_other_columns_are_not_read_where_no_row_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, read_rows = [], Entries.read_rows

    def counted(self: Entries, start: int, stop: int, threads: int) -> Any:
        if stop:
            read.append(self.columns)
        return read_rows(self, start, stop, threads)

    monkeypatch.setattr(Entries, "read_rows", counted)
    where = as_expression([("run", "==", 1)])
    request = Request(columns=("x",), where=where, tested=("run",), options={"tree": "Events"})
    parts = describe(find_files(folder), request)
    pieces = [Piece(part.dataset, (), 0, 10) for part in parts]
    found = join_parts(parts, request).read(pieces)
    assert found["x"].to_pylist() == list(range(10, 20))
    assert sorted(read) == [("run",), ("run",), ("run",), ("x",)]


def test_mistakes(folder: Path) -> None:
    with pytest.raises(UsageError, match="trees 'Events', 'Other'; say tree="):
        fs.read(f"{folder}/*.root")
    with pytest.raises(UsageError, match="'Events' and 'Other' are both asked for"):
        fs.read([f"{folder}/0.root:Events", f"{folder}/1.root:Other"])
    with pytest.raises(MissingColumnError, match=r"0\.root has no column .z."):
        fs.read(f"{folder}/*.root:Events", columns=["z"])
