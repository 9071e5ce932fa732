"""The table of formats: what each of them holds, and values to try it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import freestone as fs

FORMATS = ("csv", "dbdf", "mtx", "npy", "parquet", "arrow", "feather", "zarr", "tdms", "root")
SPARSE = ("csv", "dbdf", "mtx")
STRINGS = ("csv", "parquet", "arrow", "feather", "tdms")
FRAMES = ("csv", "dbdf", "parquet", "arrow", "feather", "tdms", "root")
LIBRARIES = {"zarr": "zarr", "tdms": "nptdms", "root": "uproot"}

_DICE = np.random.default_rng(8)
DENSE = _DICE.normal(size=(60, 4))
DENSE[3, 2], DENSE[5, 0], DENSE[7, 1] = 0.0, -0.0, 5e-324
_HOLES = np.where(_DICE.random((60, 4)) < 0.3, DENSE, 0.0)
TEXTS = ["", "a,b", 'a "b"', "a\nb", "a\r\nb", "é 語", " blanks ", "1.5", "NA", "true"]
VALUES: dict[str, Any] = {
    "dense": DENSE,
    "csr": scipy.sparse.csr_array(_HOLES),
    "coo": scipy.sparse.coo_array(_HOLES),
    "frame": pa.table({"n": np.arange(60), "x": DENSE[:, 0], "s": DENSE[:, 1].astype("f4")}),
    "strings": pa.table({"t": TEXTS * 6, "n": np.arange(60)}),
}
HOLDS: dict[str, tuple[str, ...]] = {
    "dense": FORMATS,
    "csr": SPARSE,
    "coo": SPARSE,
    "frame": FRAMES,
    "strings": STRINGS,
}
NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
TYPES: dict[str, tuple[str, ...]] = {
    "csv": (*NUMBERS, "?"),
    "dbdf": ("i1", "i4", "i8", "u1", "u4", "u8", "f4", "f8"),
    "mtx": ("i8", "u8", "f8", "c16"),
    "npy": (*NUMBERS, "f2", ">i4", "?", "c8", "c16", "U3", "S2", "M8[us]"),
    "parquet": (*NUMBERS, "?"),
    "arrow": (*NUMBERS, "?"),
    "zarr": (*NUMBERS, "?", "c16"),
    "tdms": (*NUMBERS, "?"),
    "root": (*NUMBERS, "?"),
}
"""The dtypes of which each format says that a matrix has them."""

CELLS = [(kind, format) for kind in VALUES for format in FORMATS]


def cells(*kinds: str) -> list[tuple[str, str]]:
    """Return the cells of some kinds that are not empty."""
    return [(kind, format) for kind in kinds for format in HOLDS[kind]]


def need(format: str) -> None:
    """Skip a test whose library is not installed."""
    if format in LIBRARIES:
        pytest.importorskip(LIBRARIES[format])


def is_frame(kind: str) -> bool:
    """Tell whether a value is a frame."""
    return isinstance(VALUES[kind], pa.Table)


def blocks_of(kind: str, rows: int) -> fs.Array | fs.Frame:
    """Return a value in blocks."""
    if is_frame(kind):
        return fs.Frame.from_table(VALUES[kind], rows)
    return fs.Array.from_numpy(VALUES[kind], rows)


def options_of(kind: str) -> dict[str, Any]:
    """Return what a read has to be told."""
    return {"sparse": "coo"} if kind == "coo" else {}


def check(kind: str, found: Any) -> None:
    """Compare with what was written, bit by bit."""
    wanted = VALUES[kind]
    if is_frame(kind):
        assert found.schema.names == wanted.schema.names
        # There are several types of texts.
        assert kind == "strings" or found.schema.types == wanted.schema.types
        assert found.to_pydict() == wanted.to_pydict()
        return
    if kind != "dense":
        assert found.format == kind
        found, wanted = found.toarray(), wanted.toarray()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.ascontiguousarray(found).tobytes() == wanted.tobytes()


def same(found: Any, wanted: Any, format: str) -> None:
    """Compare bits; text has one way to say that something is no number."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if format in ("csv", "mtx") and wanted.dtype.kind in "fc":
        half = f"f{wanted.dtype.itemsize // (2 if wanted.dtype.kind == 'c' else 1)}"
        pairs = [np.ascontiguousarray(each).view(half).copy() for each in (found, wanted)]
        for each in pairs:
            each[np.isnan(each)] = np.nan
        found, wanted = pairs
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(wanted).tobytes()


def left(folder: Path) -> list[str]:
    """Return the names of what is in a folder, without what describes a file."""
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(".meta"))
