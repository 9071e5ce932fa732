"""Files that are wrong, each with what has to be said of it."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

import freestone as fs
from freestone.errors import FileError, FormatError, UsageError

__all__ = ["BAD", "Bad", "check", "check_content", "described", "put"]


@dataclass(frozen=True)
class Bad:
    """A file that is wrong, or one beside it.

    Attributes
    ----------
    format : str
        What its name ends in.
    content : callable
        Returns its bytes.
    place : str
        What the error has to say.
    options : dict
        Those of the read.
    meta : dict or None
        What is in the `.meta` beside it.
    library : str or None
        What has to be installed.
    beside : str
        What is added to the name of the file that the error is about.
    """

    format: str
    content: Callable[[], bytes]
    place: str
    options: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] | None = None
    library: str | None = None
    beside: str = ""


def lines(bad: str, good: str = "1,2", count: int = 60) -> Callable[[], bytes]:
    """Return a file of a bad line among good ones, which is line 61."""
    text = f"{good}\n" * count
    return lambda: (text + bad + "\n" + text).encode("latin1")


ARRAY = {"kind": "array", "dtype": "f8"}
FRAME = {
    "numRows": 121,
    "numCols": 2,
    "schema": [{"label": "a", "valueType": "f64"}, {"label": "b", "valueType": "str"}],
}
TRIPLES = {"sparse": True, "shape": (200, 5)}
GOOD_TRIPLES = "".join(f"{row},{row % 5},1.5\n" for row in range(60))


def triples(bad: str) -> Callable[[], bytes]:
    return lambda: (GOOD_TRIPLES + bad + "\n199,4,2.5\n").encode()


def mtx(bad: str, sizes: str = "70 2 61") -> Callable[[], bytes]:
    head = f"%%MatrixMarket matrix coordinate real general\n{sizes}\n"
    return lambda: (head + "".join(f"{row} 1 1.5\n" for row in range(1, 61)) + bad).encode()


X = np.arange(240.0).reshape(60, 4)


def dbdf(*changes: tuple[int, int], cut: int = 0, sparse: bool = False) -> Callable[[], bytes]:
    def content() -> bytes:
        kind = 2 if sparse else 1
        head = struct.pack("<BBQQ", 1, kind, *X.shape)
        head += struct.pack("<BQQIIBB", 7, 0, 0, *X.shape, kind, 7)
        x = scipy.sparse.csr_array(X)
        parts = x.indptr.astype("<u8"), x.indices.astype("<u8"), x.data
        rest = struct.pack("<Q", x.nnz) + b"".join(part.tobytes() for part in parts)
        made = bytearray(head + (rest if sparse else X.tobytes()))
        for at, value in changes:
            made[at] = value
        return bytes(made[: len(made) - cut])

    return content


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()[:-8]


def records() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3, [("a", "f8"), ("b", "i4")]))
    return file.getvalue()


def no_text(format: str) -> Callable[[], bytes]:
    """Return a frame, one of whose texts is no UTF-8."""

    def content() -> bytes:
        file, table = io.BytesIO(), pa.table({"a": ["good"] * 3 + ["qwertz"]})
        if format == "parquet":
            pyarrow.parquet.write_table(
                table, file, compression="none", use_dictionary=False, write_statistics=False
            )
        else:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        return file.getvalue().replace(b"qwertz", b"\xffwertz")

    return content


def missing() -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [1, None, 3]}), file)
    return file.getvalue()


def tdms(cut: int) -> Callable[[], bytes]:
    """Return a channel that is cut off: what there is of it would be fewer rows."""

    def content() -> bytes:
        import nptdms

        file = io.BytesIO()
        with nptdms.TdmsWriter(file) as writer:
            for at in range(2):
                writer.write_segment([nptdms.ChannelObject("g", "c", X[:, at])])
        return file.getvalue()[:-cut]

    return content


BAD: dict[str, Bad] = {
    "a short row": Bad("csv", lines("3"), "row 61 has 1 cells, and 2 are wanted", ARRAY),
    "a long row": Bad("csv", lines("3,4,5"), "row 61 has 3 cells, and 2 are wanted", ARRAY),
    "no number": Bad("csv", lines("3,4x"), 'row 61, column 2: "4x" is not a number', ARRAY),
    "no UTF-8": Bad("csv", lines("3,\xff"), "row 61, column 2: ", ARRAY),
    "a quote": Bad("csv", lines('"3,4'), "inside of quotes", ARRAY),
    "no number of a frame": Bad(
        "csv", lines("x,y"), 'row 61, column 1: "x" is not a number', {}, FRAME
    ),
    "a short row of a frame": Bad("csv", lines("3"), "row 61 has 1 cells", {}, FRAME),
    "no UTF-8 in a frame": Bad("csv", lines("3,\xff"), "row 61, column 2: ", {}, FRAME),
    "no number of a triple": Bad(
        "csv", triples("60,1,x"), 'row 61, column 3: "x" is not a number', TRIPLES
    ),
    "a short triple": Bad("csv", triples("60,1"), "row 61 has 2 cells", TRIPLES),
    "a triple elsewhere": Bad(
        "csv", triples("60,5,1"), 'row 61, column 2: "5" is not a position from 0 to 4', TRIPLES
    ),
    "a .meta of more rows": Bad(
        "csv",
        lines("3,4"),
        "its .meta says 9 rows of 2 columns, and it has 121 rows, the first of 2 cells",
        {},
        {"numRows": 9, "numCols": 2, "valueType": "f64"},
    ),
    "a .meta of another type": Bad(
        "csv",
        lines("3,4.5"),
        'row 61, column 2: "4.5" is not ',
        {},
        {"numRows": 121, "numCols": 2, "valueType": "si64"},
    ),
    "a .meta of no type": Bad(
        "csv",
        lines("3,4"),
        "'f65' is no value type",
        {},
        {"numRows": 121, "numCols": 2, "valueType": "f65"},
        beside=".meta",
    ),
    "DBDF cut off": Bad("dbdf", dbdf(cut=1), "byte 1964: 1,965 bytes are wanted"),
    "DBDF of another version": Bad("dbdf", dbdf((0, 7)), "byte 0: version 7, and only 1 is known"),
    "DBDF of an unknown type": Bad("dbdf", dbdf((18, 99), (44, 99)), "byte 18: value type 99"),
    "DBDF of a column too many": Bad(
        "dbdf", dbdf((53 + 61 * 8 + 8 * 200, 77), sparse=True), "column 77 of 4 (from 0)"
    ),
    "Matrix Market without a number": Bad("mtx", mtx("61 1 x\n"), '"61 1 x" has a value that'),
    "Matrix Market with too short a line": Bad("mtx", mtx("61 1\n"), "ends before its value does"),
    "Matrix Market of another place": Bad("mtx", mtx("61 3 1\n"), "has no column from 1 to 2"),
    "Matrix Market cut off": Bad("mtx", mtx("", "70 2 62"), "says 62 entries, and it has 60"),
    "NumPy cut off": Bad("npy", npy, "(truncated, or foreign)"),
    "NumPy's records": Bad("npy", records, "have to be numbers or texts"),
    "Parquet without UTF-8": Bad("parquet", no_text("parquet"), "UTF8"),
    "Arrow without UTF-8": Bad("arrow", no_text("arrow"), "UTF8"),
    "Parquet with gaps": Bad(
        "parquet", missing, "column 'a' has 1 missing values, for which int64", {"kind": "array"}
    ),
    "TDMS cut off": Bad("tdms", tdms(8), "goes on behind the end of the file", library="nptdms"),
    "TDMS cut off at a segment": Bad("tdms", tdms(60 * 8 + 28 + 60), "truncated", library="nptdms"),
}


def described(bad: Bad) -> bytes | None:
    """Return the `.meta` beside a file."""
    return None if bad.meta is None else json.dumps(bad.meta).encode()


def put(folder: Path, bad: Bad) -> Path:
    """Write a file that is wrong, and what is beside it."""
    if bad.library:
        pytest.importorskip(bad.library)
    path, meta = folder / f"x.{bad.format}", described(bad)
    path.write_bytes(bad.content())
    if meta is not None:
        (folder / f"x.{bad.format}.meta").write_bytes(meta)
    return path


def check(bad: Bad, url: str) -> None:
    """Read a file block by block, and look at what is said."""
    with pytest.raises((FormatError, UsageError)) as caught:
        fs.read(url, block_rows=7, **bad.options).compute()
    assert bad.place in str(caught.value)
    if isinstance(caught.value, FileError):
        assert f"{url}{bad.beside}" in str(caught.value)


def check_content(path: Path, content: bytes, place: str, **options: Any) -> None:
    """Write a file that is wrong, read it, and look at what is reported: where, and in which."""
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        fs.read(path, **options).compute()
    assert place in str(caught.value)
    assert str(path) in str(caught.value)
