"""Files of scripts on a cluster: workers read and write rows of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptRunError
from tests.lang.scripts import printed, printed_on

ROWS, COLUMNS = 4000, 50
NBYTES = ROWS * COLUMNS * 8


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def matrix(name: str, rows: int = ROWS, share: float = 1.0) -> np.ndarray:
    """Write a matrix into a file, and return it."""
    printed(f'writeMatrix(rand({rows}, {COLUMNS}, 0.0, 1.0, {share}, 1), "{name}");')
    return np.zeros((rows, COLUMNS))


READ = 'X = readMatrix("{0}"); print(sum(X, 1)[, 0:4]); print(t(X) @ X[, 0]); print(X[7, 0:3]);'


@pytest.mark.parametrize("name", ["x.csv", "x.dbdf", "x.npy", "x.mtx", "x.parquet"])
def test_workers_read_rows_of_their_own(two_workers: Cluster, name: str) -> None:
    pytest.importorskip("pyarrow")
    if name.endswith(".parquet"):
        printed(f'write(as.frame(rand({ROWS}, {COLUMNS}, 0.0, 1.0, 1.0, 1)), "{name}");')
    else:
        matrix(name)
    expected = printed(READ.format(name), vec=True)
    before = two_workers.statistics()
    # Only what is asked for comes here, not the matrix. A worker with nothing to do may fetch some
    # of the other one's rows.
    assert printed_on(two_workers, READ.format(name), distributed_bytes=NBYTES // 2) == expected
    after = two_workers.statistics()
    assert after.transferred_nbytes - before.transferred_nbytes < NBYTES


def test_small_files_are_read_here(two_workers: Cluster) -> None:
    matrix("x.csv", 20)
    before = two_workers.statistics().done
    script = 'print(typeOf(readMatrix("x.csv")));'
    assert printed_on(two_workers, script, distributed_bytes=1 << 20) == printed(script)
    assert two_workers.statistics().done == before


def test_integers_and_truth_keep_their_types(two_workers: Cluster) -> None:
    for cell in ("si8", "ui8", "si32", "ui64", "f32"):
        printed(f'writeMatrix(as.{cell}(rand(30, 4, 0.0, 99.0, 1.0, 1)), "x.csv");')
        script = 'X = readMatrix("x.csv"); print(X); print(X + X[, 0]); print(aggMax(X, 1));'
        assert printed_on(two_workers, script) == printed(script)
    printed('writeMatrix(as.bool(rand(30, 4, 0.0, 1.0, 0.5, 1)), "x.csv");')
    script = 'X = readMatrix("x.csv"); print(X); print(sum(X, 0));'
    assert printed_on(two_workers, script) == printed(script)


def test_sparse_files_are_read_as_csr(two_workers: Cluster) -> None:
    side = 200_000
    lines = [f"{at + 1} {(at * 7919) % side + 1} {at % 5 + 1}" for at in range(0, side, 2)]
    head = f"%%MatrixMarket matrix coordinate real general\n{side} {side} {len(lines)}\n"
    Path("g.mtx").write_text(head + "\n".join(lines) + "\n")
    # Dense, it would be 320 GB, and each block of it 160.
    script = (
        'G = readMatrix("g.mtx"); p = rand(200000, 1, 0.0, 1.0, 1.0, 2); q = G @ p; print(sum(q)); '
        "print(sum(G)); print(sum(G, 0)[0:4, ]); print(sum((G @ q) * 0.5 + p)); "
        "print(sum(t(G) @ p)); print(sum(t(G) @ cbind(p, q), 1));"
    )
    expected = printed(script, vec=True, select_matrix_repr=True)
    found = printed_on(two_workers, script, select_matrix_repr=True)
    assert found == expected
    alone = 'G = readMatrix("g.mtx"); print(sum(G @ rand(200000, 1, 0.0, 1.0, 1.0, 2)));'
    expected = printed(alone, vec=True, select_matrix_repr=True)
    assert printed_on(two_workers, alone, select_matrix_repr=True, vec=False) == expected


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["out/y.csv", "out/y.dbdf", "out/y.npy", "out/y.mtx"])
def test_workers_write_what_they_have(two_workers: Cluster, name: str, csr: bool) -> None:
    script = (
        f'X = rand({ROWS}, {COLUMNS}, 0.0, 1.0, 0.2, 1); Y = X * 2.0; writeMatrix(Y, "{name}");'
    )
    printed(script, select_matrix_repr=csr)
    wanted = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    for path in Path("out").iterdir():
        path.unlink()
    printed_on(two_workers, script, select_matrix_repr=csr)
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == wanted


def test_what_is_written_is_read_again(two_workers: Cluster) -> None:
    matrix("x.csv", 40)
    script = (
        'X = readMatrix("x.csv"); for (i in 1:3) { Y = readMatrix("x.csv") + 1.0; '
        'writeMatrix(Y, "x.csv"); } Z = readMatrix("x.csv"); print(sum(Z - X));'
    )
    assert printed(script) == "6000\n"
    matrix("x.csv", 40)
    assert printed_on(two_workers, script) == "6000\n"


def test_a_file_that_lies_is_reported_with_the_line_of_the_script(two_workers: Cluster) -> None:
    matrix("x.csv", 40)
    lines = Path("x.csv").read_text().splitlines()
    lines[30] = lines[30].replace("0.", "zero", 1)
    Path("x.csv").write_text("\n".join(lines) + "\n")
    script = 'a = 1;\nX = readMatrix("x.csv");\nprint(sum(X));'
    errors = []
    for run in (lambda: printed(script), lambda: printed_on(two_workers, script)):
        with pytest.raises(ScriptRunError) as caught:
            run()
        errors.append((str(caught.value), caught.value.line))
    assert errors[0] == errors[1]
    assert errors[0][1] == 2
    assert "row 31" in errors[0][0] or "line 31" in errors[0][0]


def test_explain_tells_that_workers_read_and_write(
    two_workers: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix("x.csv", 40)
    script = 'X = readMatrix("x.csv"); writeMatrix(X * 2.0, "y.csv");'
    printed_on(two_workers, script, explain=("placement",))
    shown = capsys.readouterr().err.splitlines()
    for word in ("read ", "write "):
        (line,) = [line for line in shown if f"= {word}" in line or line.startswith(word)]
        assert line.endswith("(on blocks)")
