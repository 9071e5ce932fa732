"""The malleable solvers find what one process finds, however often they are resized."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from examples.cg.matrices import Elasticity
from tests.mpi import mpiexec_well

pytest.importorskip("mpi4py")


def run(*words: str) -> str:
    """Run an example on two ranks, and return what it says."""
    return mpiexec_well(2, sys.executable, "-m", "mpi4py", *words, timeout_s=100)


def test_cg_takes_the_same_way_with_resizes_in_mid_solve() -> None:
    resizes = ["--resize", "5=4", "--resize", "10=1", "--resize", "15=3"]
    printed = run("examples/cg/main.py", "--size", "9", "--check", *resizes)
    assert re.findall(r"iteration \d+: \d to \d", printed) == [
        "iteration 5: 2 to 4",
        "iteration 10: 4 to 1",
        "iteration 15: 1 to 3",
    ]
    assert "(within 1e-12: True)" in printed


def test_cg_reads_a_matrix_market_file(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).random(375)
    matrix = Elasticity(5).load(0, 375) + scipy.sparse.diags_array(10 * weights)
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix, symmetry="symmetric")
    words = ["--matrix", str(tmp_path / "a.mtx"), "--method", "baseline-collective-sync"]
    printed = run("examples/cg/main.py", *words, "--check", "--resize", "4=3")
    assert "2 to 3 processes by baseline-collective-sync" in printed
    assert "(within 1e-12: True)" in printed


def test_rows_are_made_in_pieces_as_in_one() -> None:
    system = Elasticity(4)
    whole = system.load(0, system.rows)
    cuts = [0, 1, 50, 50, 191, 192]
    pieces = [system.load(a, b) for a, b in itertools.pairwise(cuts)]
    assert (scipy.sparse.vstack(pieces) != whole).nnz == 0
    assert (whole != whole.T).nnz == 0
    assert np.linalg.eigvalsh(whole.toarray()).min() > 0
    assert np.diff(whole.indptr).max() == 81


def test_stars_are_where_one_process_finds_them() -> None:
    words = ["--stars", "40", "--steps", "30", "--method", "merge-p2p-sync"]
    printed = run("examples/nbody/main.py", *words, "--resize", "5=5", "--resize", "12=2")
    assert "processes at last: [5, 2]" in printed
    assert "bit for bit what one process finds: True" in printed


def test_a_plate_on_grids_of_processes_is_what_one_process_finds() -> None:
    resizes = ["--resize", "5=6", "--resize", "15=1", "--resize", "25=5"]
    printed = run("examples/plate/main.py", *resizes)
    assert "processes at last: [6, 1, 5]" in printed
    assert "bit for bit what one process finds: True" in printed
    words = ["--method", "baseline-collective-sync", "--resize", "9=4"]
    printed = run("examples/plate/main.py", "--steps", "20", *words)
    assert "processes at last: [4]; bit for bit what one process finds: True" in printed
