"""Text that is compressed as a whole, text of other encodings, and text with tabs."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, UsageError

TEXT = b"name,age\n" + b"".join(b"n%d,%d\n" % (number, number) for number in range(1000))
ROWS = {"name": [f"n{number}" for number in range(1000)], "age": list(range(1000))}
WAYS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}


@pytest.mark.parametrize("suffix", WAYS)
def test_a_compressed_file_is_its_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.csv.{suffix}"
    path.write_bytes(WAYS[suffix](TEXT))
    assert fs.read(path).compute().to_pydict() == ROWS
    with fs.Cluster(workers=1, executors=1, memory="256MiB", disk="1GiB"):
        (tmp_path / f"b.csv.{suffix}").write_bytes(WAYS[suffix](TEXT))
        found = fs.read(f"{tmp_path}/*.csv.{suffix}", columns=["age"], where=[("age", ">=", 998)])
        assert found.compute()["age"].to_pylist() == [998, 999] * 2


@pytest.mark.parametrize("suffix", WAYS)
def test_what_is_cut_off_or_of_another_kind_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.csv.{suffix}"
    for content in (WAYS[suffix](TEXT)[:-9], TEXT, WAYS[suffix](TEXT)[:20] + b"\0" * 99):
        path.write_bytes(content)
        with pytest.raises(
            FormatError, match=r"a\.csv\.\w+ can't be used: it can't be decompressed"
        ):
            fs.read(path)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(WAYS)), st.binary(max_size=40), st.integers(0, 60))
def test_damage_is_found_or_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, noise: bytes, at: int
) -> None:
    good = WAYS[suffix](TEXT)
    path = tmp_path_factory.getbasetemp() / f"damaged.csv.{suffix}"
    path.write_bytes(good[:at] + noise + good[at + len(noise) :])
    found = None
    try:
        found = fs.read(path).compute()
    except (FormatError, UsageError) as error:
        message = str(error)
    # gzip has fields that say nothing of the text, and zstd here no checksum of it.
    if found is None:
        assert "damaged.csv" in message
    elif suffix != "zst":
        assert found.to_pydict() == ROWS


def test_matrices_and_other_formats(tmp_path: Path) -> None:
    fs.write(np.eye(3), tmp_path / "m.mtx")
    path = tmp_path / "m.mtx.gz"
    path.write_bytes(gzip.compress((tmp_path / "m.mtx").read_bytes()))
    assert (fs.read(path).compute() == np.eye(3)).all()
    (tmp_path / "m.npy.gz").write_bytes(b"")
    with pytest.raises(UsageError, match=r"npy is not read from a compressed file"):
        fs.read(tmp_path / "m.npy.gz")
    with pytest.raises(UsageError, match="not written compressed"):
        fs.write(np.eye(3), tmp_path / "w.csv.gz")
    assert not (tmp_path / "w.csv.gz").exists()


def test_tabs_are_what_the_name_says(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("who\twhere\nanna, b\t3\nbob\t4\n")
    assert fs.read(path).compute().to_pydict() == {"who": ["anna, b", "bob"], "where": [3, 4]}
    frame = fs.Frame.from_table({"x": [1, 2], "y": ["a,b", "c"]}, 2)
    fs.write(frame, path, header=True, meta=False)
    assert path.read_text() == "x\ty\n1\ta,b\n2\tc\n"
    assert fs.read(path).compute().to_pydict() == {"x": [1, 2], "y": ["a,b", "c"]}


ABROAD = "id;städt\n1;Müller\n2;x\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_text_of_any_encoding(encoding: str, tmp_path: Path, two_workers: fs.Cluster) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(ABROAD.encode(encoding))
    expected = {"id": [1, 2], "städt": ["Müller", "x"]}
    assert fs.read(path, encoding=encoding).compute().to_pydict() == expected
    both = fs.read([path, path], encoding=encoding).compute().to_pydict()
    assert both == {name: values * 2 for name, values in expected.items()}
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert fs.read(tmp_path / "x.csv.gz", encoding=encoding).compute().to_pydict() == expected


def test_text_of_an_encoding_that_is_not_given_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(ABROAD.encode("latin-1"))
    with pytest.raises(FormatError, match=r"no UTF-8.*say encoding="):
        fs.read(path)
    with pytest.raises(FormatError, match="not of encoding='ascii'"):
        fs.read(path, encoding="ascii")
    with pytest.raises(UsageError, match="such as 'latin-1'"):
        fs.read(path, encoding="hex")
    path.write_bytes(ABROAD.replace("städt", "s").encode("latin-1"))
    with pytest.raises(FormatError, match=r"row 2, column 2.*not UTF-8; say encoding="):
        fs.read(path).compute()
    path.write_bytes(ABROAD.encode("utf-16"))
    with pytest.raises(FormatError, match="it is UTF-16; say encoding='utf-16'"):
        fs.read(path)
