"""Trees of many ROOT files: real ones, and ones that are written here."""

from __future__ import annotations

import itertools
import pickle
import re
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow.compute as pc
import pytest
import uproot
from skhep_testdata import data_path

import freestone as fs
from freestone.errors import FormatError, MissingColumnError, UsageError
from freestone.io.formats import root, root_baskets
from freestone.io.formats.root import Entries
from freestone.io.many import Piece, Request, describe, find_files, join_parts
from freestone.io.opening import open_dataset

HZZ = data_path("uproot-HZZ.root")
REAL = [
    ("uproot-HZZ.root", "events"),
    ("uproot-Zmumu.root", "events"),
    ("uproot-issue30.root", "tree"),
    *(
        (f"uproot-sample-6.20.04-{codec}.root", "sample")
        for codec in ("uncompressed", "zlib", "lzma", "lz4")
    ),
]


@pytest.mark.parametrize(("name", "tree"), REAL)
def test_numbers_are_read_without_the_tree(
    name: str, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = open_dataset(data_path(name), tree=tree)
    assert isinstance(whole, Entries)
    assert {name for name, one in whole.places.items() if not one.is_list} == {
        column
        for column, one in zip(whole.columns, whole.numbers, strict=True)
        if one is not None and not one.is_list
    }
    some = pickle.loads(pickle.dumps(whole.select(tuple(whole.places))))
    monkeypatch.setattr(uproot, "open", None)
    rows = whole.rows
    parts = {
        range_: some.read(*range_)
        for range_ in [(0, rows), (rows // 3, rows // 2), (rows - 1, rows), (2, 2)]
    }
    monkeypatch.undo()
    for (start, stop), found in parts.items():
        table = some._read_tree(start, stop)
        assert found.schema == table.schema.remove_metadata()
        # NaN is equal to NaN here.
        assert found.to_pandas().equals(table.to_pandas())


def test_places_of_many_baskets_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    some = open_dataset(HZZ, tree="events").select(("NMuon", "MET_px"))
    monkeypatch.setattr(root, "MAX_SENT", 1)
    sent = pickle.loads(pickle.dumps(some))
    assert isinstance(sent, Entries)
    assert (len(sent.places), sent.read(0, 9).to_pydict()) == (0, some.read(0, 9).to_pydict())


def test_damaged_baskets_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": np.dtype(np.int32)})
        file["t"].extend({"x": np.arange(50, dtype=np.int32)})
    good, seek = path.read_bytes(), int(open_dataset(path).places["x"].seeks[0])
    messages = set()
    header = range(seek, seek + int(open_dataset(path).places["x"].sizes[0]) - 50 * 4)
    for at, flipped in itertools.product(header, (1, 64)):
        damaged = bytearray(good)
        damaged[at] ^= flipped
        path.write_bytes(damaged)
        try:
            assert open_dataset(path).read(0, 50)["x"].to_pylist() == [*range(50)]
        except FormatError as error:
            messages.add(re.sub(r"\d[\d,]*", "N", str(error).partition("byte ")[2]))
    assert messages >= {
        "N: basket N of 'x' has another size than its branch says (damaged)",
        "N: basket N of 'x' says that its values end elsewhere (damaged)",
        "N: basket N of 'x' has N bytes of values, where N entries have N (damaged)",
    }


def test_damaged_ends_of_lists_are_refused(tmp_path: Path) -> None:
    path, lists = tmp_path / "a.root", [[1, 2], [], [3], [4, 5, 6], []]
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": "var * int32"})
        file["t"].extend({"x": ak.values_astype(ak.Array(lists), np.int32)})
    where = open_dataset(path).places["x"]
    assert where.is_list
    good, end, messages = path.read_bytes(), int(where.seeks[0] + where.sizes[0]), set()
    # Behind the values: a count, five beginnings and one number more.
    for at, flipped in itertools.product(range(end - 7 * 4, end), (1, 4, 64, 128)):
        damaged = bytearray(good)
        damaged[at] ^= flipped
        path.write_bytes(damaged)
        try:
            found = open_dataset(path).select(("x",)).read(0, 5)["x"].to_pylist()
        except FormatError as error:
            messages.add(re.sub(r"\d[\d,]*", "N", str(error).partition("byte ")[2]))
        else:
            # Whatever the ends of some lists are taken to be, all values are there.
            assert [*itertools.chain(*found)] == [1, 2, 3, 4, 5, 6]
            assert found == lists or end - 6 * 4 <= at < end - 4
    assert messages == {"N: basket N of 'x' says that its lists begin elsewhere (damaged)"}


def test_lists_whose_ends_only_their_counter_says_are_read_with_the_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = open_dataset(HZZ, tree="events").select(("Muon_Px",))
    found, unpacked = some.read(0, 100), root_baskets._unpacked
    monkeypatch.setattr(
        root_baskets, "_unpacked", lambda *args: (unpacked(*args)[0], b"", unpacked(*args)[2])
    )
    assert some.read(0, 100).to_pylist() == found.to_pylist()


def test_a_tree_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no tree 'evens'; did you mean 'events'\?"):
        open_dataset(HZZ, tree="evens")


def test_branches_of_a_real_file(two_workers: fs.Cluster) -> None:
    found = fs.read(f"{HZZ}:events", columns=["NMuon", "MET_px"], block_rows=1000)
    with uproot.open(HZZ) as file:
        expected = file["events"].arrays(["NMuon", "MET_px"], library="np")
    assert [block.num_rows for block in found.iter_blocks()] == [1000, 1000, 421]
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
    where = pc.field("run") == 1
    request = Request(columns=("x",), where=where, tested=("run",), options={"tree": "Events"})
    parts = describe(find_files(folder), request)
    pieces = [Piece(part.dataset, (), 0, 10) for part in parts]
    found = join_parts(parts, request).read(pieces)
    assert found["x"].to_pylist() == list(range(10, 20))
    assert sorted(read) == [("run",), ("run",), ("run",), ("x",)]


@pytest.mark.parametrize(("name", "tree"), REAL)
def test_types_are_those_that_the_library_reads(name: str, tree: str) -> None:
    whole = open_dataset(data_path(name), tree=tree)
    assert isinstance(whole, Entries)
    found = whole._read_tree(0, 3).schema
    for column, one in zip(whole.columns, whole.numbers, strict=True):
        assert one is None or one.arrow_type == found.field(column).type


def test_a_filter_looks_at_no_file_again(
    two_workers: fs.Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = fs.read(f"{folder}/*.root:Events")
    monkeypatch.setattr("freestone.storage.many._described", None)
    monkeypatch.setattr("freestone.storage.many.describe", None)
    assert events.filter(run=1).select("x").compute()["x"].to_pylist() == [*range(10, 20)]


def test_mistakes(folder: Path) -> None:
    with pytest.raises(UsageError, match="trees 'Events', 'Other'; say tree="):
        fs.read(f"{folder}/*.root")
    with pytest.raises(UsageError, match="'Events' and 'Other' are both asked for"):
        fs.read([f"{folder}/0.root:Events", f"{folder}/1.root:Other"])
    with pytest.raises(MissingColumnError, match=r"0\.root has no column .z."):
        fs.read(f"{folder}/*.root:Events", columns=["z"])
