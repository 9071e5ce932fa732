"""The other formats: round trips, files of others, and ours read by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone.cli.main import main
from freestone.errors import FileMissingError, FormatError, UsageError

QUICK = settings(max_examples=25, deadline=None)
TABLE = pa.table(
    {"n": np.arange(50), "x": np.arange(50) / 7, "name": [f"row {n}" for n in range(50)]}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


# -- Matrix Market ----------------------------------------------------------------------------


@QUICK
@given(data=st.data(), code=st.sampled_from(["f8", "i8", "c16"]), rows=st.integers(1, 12))
def test_matrix_market_with_scipy(folder: Path, data: st.DataObject, code: str, rows: int) -> None:
    numbers = st.integers(-9, 9) if code == "i8" else st.floats(-1e3, 1e3)
    if code == "c16":
        numbers = st.complex_numbers(max_magnitude=1e3, allow_nan=False)
    x = data.draw(hnp.arrays(code, (rows, data.draw(st.integers(1, 5))), elements=numbers))
    path = folder / "m.mtx"
    fs.write(x, path)
    np.testing.assert_array_equal(scipy.io.mmread(path), x)
    back = fs.read(path).compute()
    assert (back.dtype, back.tobytes()) == (x.dtype, x.tobytes())
    s = scipy.sparse.csr_array(x)
    fs.write(s, path)
    np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), s.toarray())
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), s.toarray())


def test_unsigned_integers_of_scipy(tmp_path: Path) -> None:
    path, x = tmp_path / "u.mtx", np.array([[2**64 - 1, 0], [1, 2**63]], np.uint64)
    scipy.io.mmwrite(path, x)
    found = fs.read(path).compute()
    assert (found.dtype, found.tolist()) == (x.dtype, x.tolist())
    for matrix in (x, scipy.sparse.csr_array(x)):
        fs.write(matrix, path)
        back = scipy.io.mmread(path)
        dense = back if matrix is x else back.toarray()
        assert (dense.dtype, dense.tolist()) == (x.dtype, x.tolist())


SYMMETRIES = {
    "real": ("general", "symmetric", "skew-symmetric"),
    "integer": ("general", "symmetric", "skew-symmetric"),
    "complex": ("general", "symmetric", "skew-symmetric", "hermitian"),
    "pattern": ("general", "symmetric"),
}
VARIANTS = [
    (layout, field, symmetry)
    for layout in ("coordinate", "array")
    for field, symmetries in SYMMETRIES.items()
    for symmetry in symmetries
    if (layout, field) != ("array", "pattern")
]


@pytest.mark.parametrize(("layout", "field", "symmetry"), VARIANTS)
def test_every_variant_that_scipy_writes(
    tmp_path: Path, symmetry: str, field: str, layout: str
) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(-5, 5, (6, 6)).astype({"integer": "i8", "complex": "c16"}.get(field, "f8"))
    if field == "complex":
        x = x + 1j * rng.integers(-5, 5, (6, 6))
    if symmetry != "general":
        x = {"symmetric": x + x.T, "skew-symmetric": x - x.T, "hermitian": x + x.conj().T}[symmetry]
    path = tmp_path / "v.mtx"
    given = scipy.sparse.coo_array(x) if layout == "coordinate" else x
    scipy.io.mmwrite(path, given, comment="of a test", field=field, symmetry=symmetry)
    wanted = scipy.io.mmread(path)
    found = fs.read(path).compute()
    if layout == "coordinate":
        wanted, found = wanted.toarray(), found.toarray()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no line of sizes"),
        (b"%%MatrixMarket matrix coordinate real general\n", "no line of sizes"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2\n", "no line of sizes"),
        (b"%%MatrixMarket matrix coordinate real odd\n2 2 0\n", "'odd' in its first line"),
        (b"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", "not square"),
        (
            b"%%MatrixMarket matrix array unsigned-integer skew-symmetric\n2 2\n1\n",
            "half would have no sign",
        ),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n", "row from 1 to 2"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", "not a number"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n", "has 1"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 999999999999\n1 1 1\n", "too many"),
        (b"1,2\n3,4\n", "does not begin with"),
    ],
)
def test_matrix_market_that_is_wrong(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "bad.mtx"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=reason):
        fs.read(path)


# -- NumPy ------------------------------------------------------------------------------------


@QUICK
@given(data=st.data(), fortran=st.booleans())
def test_npy_both_ways(folder: Path, data: st.DataObject, fortran: bool) -> None:
    shape = data.draw(
        st.tuples(st.integers(0, 20)) | st.tuples(st.integers(0, 20), st.integers(1, 5))
    )
    code = data.draw(st.sampled_from(["f8", ">i4", "?", "c8", "U3", "u1"]))
    x = data.draw(hnp.arrays(code, shape))
    theirs, ours = folder / "theirs.npy", folder / "ours.npy"
    np.save(theirs, np.asfortranarray(x) if fortran else x)
    np.testing.assert_array_equal(fs.read(theirs).compute(), x)
    fs.write(x, ours)
    back = np.load(ours)
    assert (back.dtype, back.shape, back.tobytes()) == (x.dtype, x.shape, x.tobytes())


def test_npy_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10.0))
    content = path.read_bytes()
    for bad, reason in [(content[:-1], "truncated"), (content[:20], "header"), (b"PK", "header")]:
        path.write_bytes(bad)
        with pytest.raises(FormatError, match=reason):
            fs.read(path)
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(FormatError, match="Python objects"):
        fs.read(path)


# -- formats of libraries ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_frames_and_matrices_by_arrow(two_workers: fs.Cluster, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    fs.write(fs.Frame.from_table(TABLE, 13), path)
    back = fs.read(path, block_rows=9)
    assert isinstance(back, fs.Frame)
    assert back.compute().equals(TABLE)
    theirs = pa.parquet.read_table(path) if "parquet" in name else pa.feather.read_table(path)
    assert theirs.equals(TABLE)
    x = np.arange(60, dtype="f4").reshape(20, 3)
    fs.write(fs.Array.from_numpy(x, 7), path)
    found = fs.read(path, block_rows=6)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.compute(), x)


def test_row_groups_have_the_size_that_is_given(tmp_path: Path) -> None:
    frame = fs.Frame.from_table({"a": range(10)}, 7)
    fs.write(frame, tmp_path / "t.parquet", row_group_size=np.int64(3))
    found = pa.parquet.ParquetFile(tmp_path / "t.parquet").metadata
    assert [found.row_group(n).num_rows for n in range(found.num_row_groups)] == [3, 3, 1, 3]
    for wrong in (0, True, "3"):
        with pytest.raises(UsageError, match="how many rows a row group has"):
            fs.write(frame, tmp_path / "u.parquet", row_group_size=wrong)


def test_parquet_of_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
    frame.to_parquet(tmp_path / "p.parquet", row_group_size=2)
    found = fs.read(tmp_path / "p.parquet").compute()
    assert found.column("b").to_pylist() == ["x", None, "z"]
    (tmp_path / "p.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(FormatError, match="ArrowInvalid"):
        fs.read(tmp_path / "p.parquet")


def test_tdms_both_ways(tmp_path: Path) -> None:
    tdms = pytest.importorskip("nptdms")
    path = tmp_path / "d.tdms"
    fs.write(TABLE, path, group="run 1")
    with tdms.TdmsFile.open(path) as file:
        np.testing.assert_array_equal(file["run 1"]["x"][:], TABLE["x"].to_numpy())
    assert fs.read(path).compute().to_pydict() == TABLE.to_pydict()
    x = np.arange(12.0).reshape(4, 3)
    fs.write(fs.Array.from_blocks([x[:3], x[3:]]), path)
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    with tdms.TdmsWriter(path) as file:
        file.write_segment(
            [tdms.ChannelObject(g, "c", np.arange(n)) for g, n in [("a", 3), ("b", 5)]]
        )
    assert fs.read(path, group="b").compute().to_pydict() == {"c": [0, 1, 2, 3, 4]}
    with pytest.raises(UsageError, match="groups 'a', 'b'; say group="):
        fs.read(path)
    path.write_bytes(b"TDSm" + b"\xff" * 20)
    with pytest.raises(FormatError):
        fs.read(path)


def test_root_both_ways(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "d.root"
    table = TABLE.select(["n", "x"])
    fs.write(fs.Frame.from_blocks([table.slice(0, 20), table.slice(20)]), path, tree="events")
    with uproot.open(path) as file:
        np.testing.assert_array_equal(
            file["events"]["x"].array(library="np"), table["x"].to_numpy()
        )
    assert fs.read(path).compute().to_pydict() == table.to_pydict()
    x = np.arange(12.0).reshape(4, 3)
    fs.write(x, path)
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    with pytest.raises(UsageError, match="'name' of type string can't be written"):
        fs.write(TABLE, path)
    path.write_bytes(b"root" + bytes(200))
    with pytest.raises((FormatError, UsageError)):
        fs.read(path)


def test_rntuples_are_read(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "n.root"
    n, x = np.arange(50), np.random.default_rng(1).normal(size=50)
    with uproot.recreate(path) as file:
        file.mkrntuple("events", {"n": np.int64, "x": np.float64})
        file["events"].extend({"n": n, "x": x})
    found = fs.read(path)
    assert found.compute().to_pydict() == {"n": n.tolist(), "x": x.tolist()}
    matrix = fs.read(path, kind="array").compute()
    np.testing.assert_array_equal(matrix, np.column_stack([n, x]))


def test_histograms_for_root(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    bh = pytest.importorskip("boost_histogram")
    path, dice = tmp_path / "h.root", np.random.default_rng(1)
    one = bh.Histogram(bh.axis.Regular(10, -3, 3), storage=bh.storage.Weight())
    one.fill(dice.normal(size=1000), weight=dice.random(1000))
    two = bh.Histogram(bh.axis.Regular(4, 0, 1), bh.axis.Variable([0, 0.1, 1]))
    two.fill(dice.random(100), dice.random(100))
    fs.write({"mass": one, "plane": two}, path)
    with uproot.open(path) as file:
        assert file.classnames(cycle=False) == {"mass": "TH1D", "plane": "TH2D"}
        np.testing.assert_array_equal(file["mass"].values(flow=True), one.values(flow=True))
        np.testing.assert_array_equal(file["mass"].variances(), one.variances())
        np.testing.assert_array_equal(file["plane"].values(), two.values())
    fs.write(one, path)
    with uproot.open(path) as file:
        assert file.keys(cycle=False) == ["histogram"]
    many = bh.Histogram(*[bh.axis.Regular(2, 0, 1)] * 4)
    with pytest.raises(UsageError, match="has 4 axes"):
        fs.write({"four": many}, path)
    with pytest.raises(UsageError, match="can't have histograms"):
        fs.write(one, tmp_path / "h.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["h.root"]


def test_zarr_both_ways(two_workers: fs.Cluster, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    path, x = tmp_path / "x.zarr", np.arange(60.0).reshape(20, 3)
    for rows in (6, 7):
        fs.write(fs.Array.from_numpy(x * rows, rows), path)
        np.testing.assert_array_equal(zarr.open_array(path)[:], x * rows)
        np.testing.assert_array_equal(fs.read(path).compute(), x * rows)
    assert [each.name for each in tmp_path.iterdir()] == ["x.zarr"]
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(FormatError, match="no Zarr array"):
        fs.read(tmp_path / "empty.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_of_a_zarr_group_is_read_by_its_name(
    two_workers: fs.Cluster, tmp_path: Path, version: Literal[2, 3]
) -> None:
    zarr = pytest.importorskip("zarr")
    x = np.arange(60.0).reshape(10, 3, 2)
    for month in (1, 2):
        group = zarr.open_group(tmp_path / f"{month}.zarr", mode="w", zarr_format=version)
        group.create_array("t2m", data=x * month, chunks=(4, 3, 2))
        group.create_array("deep/t2m", data=-x, chunks=(4, 3, 2))
    path = tmp_path / "1.zarr"
    np.testing.assert_array_equal(fs.read(path, array="t2m").compute(), x)
    np.testing.assert_array_equal(fs.read(path, array="deep/t2m").compute(), -x)
    both = fs.read(tmp_path / "*.zarr", array="t2m")
    np.testing.assert_array_equal(both.compute(), np.concatenate([x, 2 * x]))
    np.testing.assert_array_equal(fs.read(path / "t2m", format="zarr").compute(), x)
    with pytest.raises(UsageError, match=r"has no array 3; there are 'deep/t2m', 't2m'"):
        fs.read(path, array=3)
    with pytest.raises(UsageError, match=r"has the arrays 'deep/t2m', 't2m'; say array="):
        fs.read(path)
    with pytest.raises(UsageError, match=r"has no array 't2'; did you mean 't2m'\?"):
        fs.read(path, array="t2")
    with pytest.raises(FileMissingError, match=r"read the group .*1\.zarr with array='t2m'"):
        fs.read(path / "t2m")
    with pytest.raises(FileMissingError):
        fs.read(tmp_path / "none.zarr", array="t2m")


# -- convert ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.dbdf", "m.mtx", "m.npy", "m.parquet", "m.feather"])
def test_convert_there_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    x = np.random.default_rng(1).normal(size=(30, 4))
    fs.write(x, tmp_path / "a.csv")
    there, back = str(tmp_path / name), str(tmp_path / "b.csv")
    assert main(["convert", "--json", str(tmp_path / "a.csv"), there]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [30, 4]
    assert main(["convert", there, back, "--write", "meta=false"]) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not (tmp_path / "b.csv.meta").exists()


def test_convert_says_what_it_cant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(tmp_path / "none.csv"), str(tmp_path / "m.npy")]) == 2
    assert "file-missing" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("1,2\n")
    assert main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "m.npy"), "--read", "x"]) == 2
    assert "--read x has no value" in capsys.readouterr().err


# -- stores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.csv", "m.dbdf", "m.npy", "m.mtx", "m.parquet"])
def test_object_stores_by_fsspec(two_workers: fs.Cluster, tmp_path: Path, name: str) -> None:
    pytest.importorskip("fsspec")
    x = np.arange(300.0).reshape(100, 3) / 7
    url = f"local://{tmp_path}/{name}"
    fs.write(x, url)
    np.testing.assert_array_equal(fs.read(url).compute(), x)


def test_a_scheme_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="nothing here reads odd://"):
        fs.read("odd://x.csv")


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    fs.write(TABLE, path)
    before = path.read_bytes()
    blocks: list[Any] = [TABLE, pa.table({"other": [1]})]
    with pytest.raises((ValueError, UsageError)):
        fs.write(fs.Frame(blocks, None, name="odd"), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["t.parquet"]


def test_hdfs_without_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HDFS_ADDRESS", raising=False)
    assert main(["convert", "--enable-hdfs", "a.csv", "b.csv"]) == 2
    assert "--enable-hdfs knows no server" in capsys.readouterr().err
