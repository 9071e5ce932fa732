"""No bytes make a reader fail in a way of its own: they are read, or refused by a FormatError.

`FUZZ_ROUNDS=1000000 pytest tests/io/test_fuzz.py --timeout 0` is the long run; `FUZZ_FIRST` is the
seed with which it begins, so that it can be taken in pieces. Formats that a library reads get a
hundredth of the rounds: what is tested there is what stands around the library.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from freestone.errors import FileError, FormatError, UsageError
from freestone.io.formats import arrow, csv, dbdf, mtx, npy, parquet, root, tdms
from freestone.io.formats import zarr as formats_zarr
from freestone.io.formats.meta import parse_meta
from freestone.io.stores import Place
from freestone.io.stores.lustre import Layout, _decoded, _parsed
from freestone.io.stores.posix import PosixPlace
from freestone.io.telling import telling
from freestone.io.writer import Shape

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "1500"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
TOKENS = [b'"', b"\n", b",", b"nan", b"-1", b"9" * 25, b"\xff", b"{", b"}", b"%%", b"\0" * 8]
X = np.array([[0, 1.5], [0, 0], [2, 3]])
S = scipy.sparse.csr_array(X)


class Source:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.nbytes = len(content)

    def read_at(self, offset: int, nbytes: int) -> bytes:
        return self._content[offset : offset + nbytes]


@dataclass(frozen=True)
class Bytes(Place):
    """A file that is only its content."""

    content: bytes = b""

    def beside(self, suffix: str) -> Place:
        return Bytes(self.url + suffix)

    def exists(self) -> bool:
        return not self.url.endswith(".meta")

    def stamp(self) -> tuple[Any, ...]:
        return (len(self.content),)

    def source(self) -> Any:
        return Source(self.content)

    def read_bytes(self) -> bytes:
        return self.content

    def write_bytes(self, data: bytes) -> None:
        raise AssertionError("nothing is written")

    def remove(self) -> None:
        raise AssertionError("nothing is removed")


def written(module: Any, x: Any) -> bytes:
    sparse = scipy.sparse.issparse(x)
    nonzeros = x.nnz if sparse else None
    shape = Shape(kind="array", rows=3, columns=(2,), dtype="<f8", sparse=sparse, nonzeros=nonzeros)
    writer = module.open_writer(Bytes("x"), shape)
    pieces = [bytes(piece) for piece in writer.encode(x, 0)]
    return b"".join([writer.head([len(piece) for piece in pieces]), *pieces])


def saved(x: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


def read(module: Any, **options: Any) -> Callable[[bytes], object]:
    def reader(content: bytes) -> object:
        place = Bytes("x", content)
        with telling("x"):
            found = module.open_dataset(place, **options)
        # A sparse matrix, or an empty one, may be large, which is not worth the memory here.
        return found.read(0, min(found.rows, 1000)) if found.row_nbytes < 1 << 20 else None

    return reader


def layout(content: bytes) -> object:
    with contextlib.suppress(FileError):
        assert isinstance(_parsed("x", content.decode("latin1")), Layout)
    return _decoded("x", content)


META = (
    b'{"numRows": 3, "numCols": 2, "numNonZeros": 3, "schema": '
    b'[{"label": "a", "valueType": "f64"}, {"label": "b", "valueType": "str"}]}'
)
CASES: dict[str, tuple[list[bytes], Callable[[bytes], object]]] = {
    "csv": ([b"1,2\n3,4\n", b'a,"b\nc"\n1,x\n', b"1.5,nan\n-inf,1e5\n"], read(csv, index=False)),
    "csv triples": ([b"0,1,2.5\n2,0,1\n"], read(csv, index=False, sparse=True, shape=(3, 2))),
    "dbdf": ([written(dbdf, X), written(dbdf, S)], read(dbdf)),
    "mtx": ([written(mtx, X), written(mtx, S)], read(mtx)),
    "npy": ([saved(X), saved(X.astype("i4").T), saved(np.arange(4.0))], read(npy)),
    "meta": ([META], lambda content: parse_meta("x", content)),
    "layout": ([b"\xd0\x0b\xd3\x0b" + bytes(92), b"lmm_stripe_count: 2\n\t 3\t 2\t 0x2\n"], layout),
}


def mutated(dice: random.Random, sample: bytes) -> bytes:
    content = bytearray(sample)
    for _ in range(dice.randint(1, 4)):
        at = dice.randint(0, len(content))
        kind = dice.randint(0, 3)
        if kind == 0 and at < len(content):
            content[at] = dice.randint(0, 255)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            content[at:at] = dice.choice(TOKENS)
        else:
            del content[at : at + dice.randint(0, 8)]
    return bytes(content)


@pytest.mark.parametrize(
    "said",
    [
        b'"numNonZeros": [1]',
        b'"numNonZeros": 1.5',
        b'"valueType": ["f64"]',
        b'"schema": 3',
        b'"hdfs": [1]',
        b'"schema": [{"label": "a", "valueType": [1]}]',
        b'"a": ' + b"[" * 100_000,
    ],
)
def test_a_meta_of_other_types_is_refused(said: bytes) -> None:
    with pytest.raises(FormatError):
        parse_meta("x", b'{"numRows": 3, "numCols": 1, ' + said + b"}")


def check(
    samples: list[bytes], reader: Callable[[bytes], object], refused: Any, rounds: int
) -> None:
    reader(samples[0])
    for seed in range(FIRST, FIRST + rounds):
        dice = random.Random(seed)
        content = mutated(dice, dice.choice(samples))
        try:
            reader(content)
        except refused:
            continue
        except Exception as error:
            error.add_note(f"seed {seed}: {content!r}")
            raise


@pytest.mark.parametrize("case", CASES)
def test_any_bytes_are_read_or_refused(case: str) -> None:
    refused = (FormatError, FileError) if case == "layout" else FormatError
    check(*CASES[case], refused, ROUNDS)


def by_arrow(kind: str) -> bytes:
    file = io.BytesIO()
    table = pa.table({"a": [1, 2, 3], "b": [0.5, None, 2.5], "c": ["x", "", None]})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return file.getvalue()


def by_nptdms() -> bytes:
    nptdms = pytest.importorskip("nptdms")
    file = io.BytesIO()
    with nptdms.TdmsWriter(file) as writer:
        writer.write_segment([nptdms.ChannelObject("g", name, X[:, 0]) for name in "ab"])
    return file.getvalue()


def by_uproot() -> bytes:
    uproot = pytest.importorskip("uproot")
    file = io.BytesIO()
    with uproot.recreate(file) as tree:
        tree.mktree("t", {"a": np.float64, "b": np.int32})
        tree["t"].extend({"a": X[:, 0], "b": np.arange(3, dtype=np.int32)})
        return file.getvalue()


FOREIGN: dict[str, tuple[Callable[[], bytes], Any]] = {
    "parquet": (lambda: by_arrow("parquet"), parquet),
    "arrow": (lambda: by_arrow("arrow"), arrow),
    "tdms": (by_nptdms, tdms),
    "root": (by_uproot, root),
}


def test_names_that_are_no_text_are_refused() -> None:
    file = io.BytesIO()
    table = pa.table({"qwertz": [1, 2]})
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FormatError, match="utf-8"):
        read(arrow)(file.getvalue().replace(b"qwertz", b"\xc1wertz"))


@pytest.mark.parametrize("case", FOREIGN)
@pytest.mark.filterwarnings("ignore")
def test_what_a_library_says_of_any_bytes_is_a_format_error(case: str) -> None:
    make, module = FOREIGN[case]
    # UsageError: what is to be read of it has to be said, such as one of two trees.
    refused = (FormatError, UsageError, MemoryError)
    check([make()], read(module), refused, max(ROUNDS // 100, 100))


@pytest.mark.filterwarnings("ignore")
def test_what_zarr_says_of_any_folder_is_a_format_error(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store = zarr.create_array(tmp_path / "x.zarr", shape=(4, 2), chunks=(2, 2), dtype="f8")
    store[:] = 1.5
    files = sorted(each for each in (tmp_path / "x.zarr").rglob("*") if each.is_file())
    samples = {file: file.read_bytes() for file in files}
    whole = samples[files[0]]

    def reader(content: bytes) -> object:
        changed = files[len(content) % len(files)]
        if content != whole:
            changed.write_bytes(mutated(random.Random(content), samples[changed]))
        try:
            place = PosixPlace(str(tmp_path / "x.zarr"))
            with telling(place.url):
                found = formats_zarr.open_dataset(place)
            # An array may be of any size, of which nothing is stored.
            return found.read(0, 1) if found.row_nbytes < 1 << 20 else None
        finally:
            changed.write_bytes(samples[changed])

    refused = (FormatError, FileError, UsageError, MemoryError)
    check([whole], reader, refused, max(ROUNDS // 100, 100))
