"""Matrix Market files of one half: written here and by workers, read by SciPy and by ourselves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone.cli.main import main
from freestone.errors import FormatError, UsageError

FIELDS = {
    "real": ("f8", ("symmetric", "skew-symmetric")),
    "single": ("f4", ("symmetric", "skew-symmetric")),
    "integer": ("i8", ("symmetric", "skew-symmetric")),
    "small": ("i1", ("symmetric", "skew-symmetric")),
    "unsigned": ("u1", ("symmetric",)),
    "logical": ("?", ("symmetric",)),
    "complex": ("c16", ("symmetric", "skew-symmetric", "hermitian")),
}
VARIANTS = [(field, each) for field, (_, symmetries) in FIELDS.items() for each in symmetries]


def square(field: str, symmetry: str, rows: int = 23, seed: int = 3) -> Any:
    """Return a matrix of a symmetry, half of whose cells are 0."""
    dice = np.random.default_rng(seed)
    code = FIELDS[field][0]
    x = dice.integers(0 if code in ("u1", "?") else -5, 6, (rows, rows)).astype(code)
    if code in ("f8", "f4", "c16"):
        x = x * x.dtype.type(1 / 3)
    if code == "c16":
        x = x + 1j * dice.normal(size=x.shape)
    below = np.tril(np.where(dice.random(x.shape) < 0.5, x, 0), -1)
    diagonal = np.zeros(rows, code) if symmetry == "skew-symmetric" else np.diag(x)
    diagonal = diagonal.real.astype(code) if symmetry == "hermitian" else diagonal
    above = {"skew-symmetric": lambda y: -y, "hermitian": np.conj}.get(symmetry, lambda y: y)(
        below.T
    )
    return (below + above + np.diag(diagonal)).astype(code)


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) - 2


@pytest.mark.parametrize("layout", ["array", "csr", "coo"])
@pytest.mark.parametrize(("field", "symmetry"), VARIANTS)
@pytest.mark.parametrize("by_workers", [False, True])
def test_every_variant(
    two_workers: fs.Cluster,
    tmp_path: Path,
    layout: str,
    field: str,
    symmetry: str,
    by_workers: bool,
) -> None:
    x, path = square(field, symmetry), tmp_path / "m.mtx"
    given = x if layout == "array" else scipy.sparse.coo_array(x).asformat(layout)
    fs.write(fs.Array.from_numpy(given, 5) if by_workers else given, path, symmetry=symmetry)
    kept = np.tril(x, -1 if symmetry == "skew-symmetric" else 0)
    rows = len(x)
    half = rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2
    assert lines(path) == (half if layout == "array" else np.count_nonzero(kept))
    words = path.read_text().split("\n", 1)[0].split()
    kind = {"f8": "real", "f4": "real", "c16": "complex"}.get(FIELDS[field][0], "integer")
    assert words[2:] == ["array" if layout == "array" else "coordinate", kind, symmetry]
    theirs, ours = scipy.io.mmread(path), fs.read(path, block_rows=7).compute()
    if layout != "array":
        theirs, ours = theirs.toarray(), ours.toarray()
    # Floats of 32 bits are read back as 64, from the shortest text that tells them apart.
    np.testing.assert_array_equal(theirs.astype(x.dtype), x)
    np.testing.assert_array_equal(ours.astype(x.dtype), x)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), symmetry=st.sampled_from(["symmetric", "skew-symmetric", "hermitian"]))
def test_any_cells_and_blocks(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, symmetry: str
) -> None:
    rows = data.draw(st.integers(1, 9))
    kind = "c16" if symmetry == "hermitian" else data.draw(st.sampled_from(["f8", "c16"]))
    x = data.draw(hnp.arrays(kind, (rows, rows)))
    if symmetry == "skew-symmetric":
        x = np.where(np.tril(np.ones(x.shape), -1) > 0, x, 0)
        x = x - x.T
    elif symmetry == "symmetric":
        x = np.where(np.tril(np.ones(x.shape)) > 0, x, x.T)
    else:
        x = np.where(np.tril(np.ones(x.shape), -1) > 0, x, x.conj().T)
        x[np.diag_indices(rows)] = x.diagonal().real
    cuts = sorted(data.draw(st.sets(st.integers(1, rows - 1))) if rows > 1 else [])
    blocks = np.split(x, cuts)
    path = tmp_path_factory.mktemp("any") / "m.mtx"
    fs.write(fs.Array(blocks, None, name="x"), path, symmetry=symmetry)
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    sparse = [scipy.sparse.csr_array(block) for block in blocks]
    fs.write(fs.Array(sparse, None, name="x"), path, symmetry=symmetry)
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), x)


def test_as_scipy_writes_it(tmp_path: Path) -> None:
    x = scipy.sparse.csr_array(square("integer", "symmetric"))
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, x, symmetry="symmetric")
    fs.write(x, tmp_path / "m.mtx", symmetry="symmetric")
    ours = (tmp_path / "m.mtx").read_text().splitlines()
    theirs = [line for line in buffer.getvalue().decode().splitlines() if line != "%"]
    assert sorted(ours) == sorted(theirs)


def test_patterns_of_one_half(two_workers: fs.Cluster, tmp_path: Path) -> None:
    x = scipy.sparse.csr_array((square("integer", "symmetric") != 0).astype("f8"))
    path = tmp_path / "p.mtx"
    fs.write(fs.Array.from_numpy(x, 5), path, pattern=True, symmetry="symmetric")
    assert path.read_text().startswith("%%MatrixMarket matrix coordinate pattern symmetric\n")
    np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), x.toarray())
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), x.toarray())
    with pytest.raises(FormatError, match="a pattern has ones only, and there is 2"):
        fs.write(x * 2, path, pattern=True, symmetry="symmetric")


@pytest.mark.parametrize("layout", ["array", "csr", "coo"])
@pytest.mark.parametrize("place", [(3, 1), (1, 3), (21, 2), (2, 21), (11, 12)])
@pytest.mark.parametrize("by_workers", [False, True])
def test_the_place_is_reported(
    two_workers: fs.Cluster, tmp_path: Path, layout: str, place: tuple[int, int], by_workers: bool
) -> None:
    x = square("real", "symmetric")
    x[place] = 77.5
    given = x if layout == "array" else scipy.sparse.coo_array(x).asformat(layout)
    array = fs.Array.from_numpy(given, 5) if by_workers else given
    row, column = min(place), max(place)
    reported = f"row {row + 1}, column {column + 1}: {x[row, column]}, and row {column + 1}, column"
    with pytest.raises(FormatError, match=reported) as raised:
        fs.write(array, tmp_path / "m.mtx", symmetry="symmetric")
    assert (raised.value.row, raised.value.column) == (row + 1, column + 1)
    assert list(tmp_path.iterdir()) == []
    fs.write(array, tmp_path / "m.mtx", symmetry="general")
    with pytest.raises(FormatError, match="so it is not symmetric"):
        fs.write(array, tmp_path / "m.mtx", symmetry="symmetric")
    assert " general\n" in (tmp_path / "m.mtx").read_text()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_a_skew_matrix_has_no_diagonal(tmp_path: Path, sparse: bool, value: float) -> None:
    x = square("real", "skew-symmetric")
    x[4, 4] = value
    with pytest.raises(FormatError, match="row 5, column 5: "):
        fs.write(
            scipy.sparse.csr_array(x) if sparse else x,
            tmp_path / "m.mtx",
            symmetry="skew-symmetric",
        )
    assert list(tmp_path.iterdir()) == []


def test_entries_of_one_place_are_one_cell(tmp_path: Path) -> None:
    x = scipy.sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    fs.write(x, tmp_path / "m.mtx", symmetry="symmetric")
    np.testing.assert_array_equal(fs.read(tmp_path / "m.mtx").compute().toarray(), [[0, 3], [3, 0]])


@pytest.mark.parametrize(
    ("x", "options", "reason"),
    [
        (np.ones((2, 3)), {"symmetry": "symmetric"}, "is for square matrices, and this is 2 x 3"),
        (np.ones((2, 2)), {"symmetry": "symetric"}, "did you mean 'symmetric'"),
        (np.ones((2, 2)), {"symmetry": True}, "a matrix is one of general"),
        (np.ones((2, 2)), {"symmetry": "hermitian"}, "is for complex values"),
        (np.zeros((2, 2), "u4"), {"symmetry": "skew-symmetric"}, "is for values with a sign"),
        (
            scipy.sparse.csr_array(np.zeros((2, 2))),
            {"symmetry": "skew-symmetric", "pattern": True},
            "says more than a pattern does",
        ),
    ],
)
def test_what_can_have_no_symmetry(
    tmp_path: Path, x: Any, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        fs.write(x, tmp_path / "m.mtx", **options)
    assert list(tmp_path.iterdir()) == []


def test_segments_have_no_half(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave symmetry out"):
        fs.write(np.ones((2, 2)), "hdfs://127.0.0.1:1/m.mtx.hdfs", symmetry="symmetric")


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_convert_writes_one_half(tmp_path: Path, workers: list[str]) -> None:
    x = square("real", "symmetric")
    fs.write(x, tmp_path / "m.csv")
    words = ["convert", "--no-progress", *workers, "--write", "symmetry=symmetric"]
    assert main([*words, str(tmp_path / "m.csv"), str(tmp_path / "m.mtx")]) == 0
    assert lines(tmp_path / "m.mtx") == 23 * 24 // 2
    np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "m.mtx"), x)
