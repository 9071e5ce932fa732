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
FRAMES = ("csv", "dbdf", "parquet", "arrow", "feather", "tdms", "root")
LIBRARIES = {"zarr": "zarr", "tdms": "nptdms", "root": "uproot"}

_DICE = np.random.default_rng(8)
DENSE = _DICE.normal(size=(60, 4))
DENSE[3, 2], DENSE[5, 0], DENSE[7, 1] = 0.0, -0.0, 5e-324
_HOLES = np.where(_DICE.random((60, 4)) < 0.3, DENSE, 0.0)
VALUES: dict[str, Any] = {
    "dense": DENSE,
    "csr": scipy.sparse.csr_array(_HOLES),
    "coo": scipy.sparse.coo_array(_HOLES),
    "frame": pa.table({"n": np.arange(60), "x": DENSE[:, 0], "s": DENSE[:, 1].astype("f4")}),
}
HOLDS: dict[str, tuple[str, ...]] = {
    "dense": FORMATS,
    "csr": SPARSE,
    "coo": SPARSE,
    "frame": FRAMES,
}
CELLS = [(kind, format) for kind in VALUES for format in FORMATS]


def cells(*kinds: str) -> list[tuple[str, str]]:
    """Return the cells of some kinds that are not empty."""
    return [(kind, format) for kind in kinds for format in HOLDS[kind]]


def need(format: str) -> None:
    """Skip a test whose library is not installed."""
    if format in LIBRARIES:
        pytest.importorskip(LIBRARIES[format])


def blocks_of(kind: str, rows: int) -> fs.Array | fs.Frame:
    """Return a value in blocks."""
    if kind == "frame":
        return fs.Frame.from_table(VALUES[kind], rows)
    return fs.Array.from_numpy(VALUES[kind], rows)


def options_of(kind: str) -> dict[str, Any]:
    """Return what a read has to be told."""
    return {"sparse": "coo"} if kind == "coo" else {}


def check(kind: str, found: Any) -> None:
    """Compare with what was written, bit by bit."""
    wanted = VALUES[kind]
    if kind == "frame":
        assert found.schema.names == wanted.schema.names
        assert found.schema.types == wanted.schema.types
        assert found.to_pydict() == wanted.to_pydict()
        return
    if kind != "dense":
        assert found.format == kind
        found, wanted = found.toarray(), wanted.toarray()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.ascontiguousarray(found).tobytes() == wanted.tobytes()


def left(folder: Path) -> list[str]:
    """Return the names of what is in a folder, without what describes a file."""
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(".meta"))
