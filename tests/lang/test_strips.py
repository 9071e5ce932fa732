"""Row strips: the same results in less memory, measured; and refused where strips do not go."""

import errno
import hashlib
import io
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from freestone.errors.lang import ScriptCompileError, ScriptError, ScriptRunError
from freestone.io import telling
from freestone.lang.compile import strips
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.front.graph.explaining import lines
from freestone.lang.front.graph.graph import Program
from freestone.lang.front.parse.source import Source
from freestone.lang.run.kernels import row_files
from freestone.lang.run.local import Run
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings
from tests.lang.scripts import printed

X = "X = floor(rand(4000, 50, 0.0, 9.0, 1.0, 7)); "
WHOLE = 4000 * 50 * 8
SCRIPTS = {
    "sums": X + "Y = X * 2.0 + 1.0; print(sum(Y)); print(aggMax(Y)); print(sum(Y, 1)[0, 0:3]);",
    "columns": X + "Y = X * 3.0; r = sum(Y, 0); print(sum(r)); print(r[0:2, ]); print(aggMin(r));",
    "two rounds": X + "Z = X - aggMin(X, 1); print(sum(Z / (sum(X) + 1.0) > 0.0));",
    "means": X + "print(mean(X * 2.0)); print(mean(X, 1)[0, 0:2]); print(sum(mean(X, 0)));",
    "products": X + "W = fill(2.0, 50, 3); print(sum(X @ W)); print((t(X) @ X)[0:2, 0:2]);",
    "cross": X + "Y = X + 1.0; print((t(X) @ Y)[0:2, 0:2]); print(sum(t(X) @ sum(X, 0)));",
    "a transpose that is read ahead": X + "Y = X[, 0:3]; T = t(Y); print(T[0, 0:5]); "
    "print(sum(Y @ (T @ fill(1.0, 4000, 1)))); print(sum(T));",
    "choices": X + "Y = (X > 4.0) ? X : 0.0; print(sum(Y)); print(sum(Y == 0.0));",
    "fill and seq": "s = seq(1.0, 90000.0); A = s @ fill(1.0, 1, 20); print(sum(A) / 20.0);",
    "side by side": X + "Y = cbind(X, X * 2.0); print(sum(Y[, 50:100])); print(ncol(Y));",
    "a function": "def f(n) { A = fill(1.5, n, 40); return sum(A * 2.0); } print(f(9000));",
    "a loop": "t = 0.0; for(i in 1:3) { A = fill(as.f64(i), 9000, 40); t = t + sum(A + 1.0); } "
    "print(t);",
    "integers": "X = fill(3, 4000, 50); Y = X * 2 / 4; print(sum(Y)); print(aggMax(Y, 1)[0, 0:2]);",
    "tables": X + "print(sum(ctable(X[, 0], X[, 1], 1.0, 9, 9))); print(sum(X));",
    "filters": X + "Y = X[[X[, 0] > 7.0, ]]; print(sum(Y * 2.0)); print(nrow(Y)); "
    "print(sum(Y, 1)[0, 0:3]); print(t(Y) @ Y[, 0]);",
    "filters of filters": X + "Y = X[[X[, 0] > 4.0, ]]; Z = Y[[Y[, 1] > 4.0, ]]; "
    "print(sum(cumSum(Z)[, 0])); print(ncell(Z)); print(sum(Y) - sum(Z));",
    "a filter as a whole": X + "Y = X[[X[, 1] > 7.5, ]]; print(Y[0:3, ]); print(mean(Y)); "
    "print(sum(Y + 1.0));",
    "cumulative": X + "C = cumSum(X); print(C[3999, 0:3]); print(sum(cumMax(X) - cumMin(X))); "
    "print(aggMax(C)); print(sum(cumProd(X / 4.5) > 1.0));",
    "reshaped": "X = reshape(seq(1.0, 200000.0), 4000, 50); Y = reshape(X * 2.0, 8000, 25); "
    "print(sum(X)); print(sum(Y, 1)[0, 0:3]); print(Y[7999, 0:3]); print(mean(Y));",
    "some rows": X + "print(X[1000:1003, 0:4]); print(X[ [3999, 0, 2, 0], 1]); print(X[-1, 3]); "
    "print(X[3997:, 0]); print(nrow(X[7:7, ]));",
    "sorted": X + "P = order(X, 1, 3, true, false, true); print(P[0:4, ]); "
    "print(X[P[0:3, ], 0:5]);",
    "whole columns": X + "X[, 3] = sum(X, 0); print(sum(X)); X[, 0] = X[, 1] * 2.0; "
    "print(sum(X, 1)[0, 0:4]);",
    "reversed": X + "R = reverse(X); print(R[0:2, 0:4]); print(sum(R * X, 1)[0, 0:3]); "
    "print(sum(reverse(R) != X)); print(sum(reverse(X[, 1] + 1.0) * X[, 2]));",
    "reversed sparse numbers": "X = rand(4000, 50, 1.0, 2.0, 0.7, 7); R = reverse(X); "
    "print(R[0:3, 0:3]); print(sum(floor(R) * floor(X)));",
    "below each other": X + "Y = rbind(X * 2.0, X + 1.0); print(sum(Y)); print(Y[3998:4002, 0:3]); "
    "print(aggMax(Y, 1)[0, 0:3]); print(reverse(Y)[0:2, 0:3]); print(sum(X));",
    "a row below": X + "Y = rbind(X, fill(7.0, 1, 50)); print(sum(Y)); print(Y[-1, 0:3]); "
    "print(sum(aggMin(Y, 0))); print(sum(cumSum(Y)[, 0]));",
    "three below each other": X + "A = seq(1.0, 3000.0) @ fill(1.0, 1, 50); "
    "Y = rbind(rbind(A, X), reverse(A)); print(sum(Y * 2.0)); print(sum(A)); print(sum(X)); "
    "print(Y[ [0, 2999, 3000, 6999, 7000, 9999], 0]); print(t(Y) @ Y[, 0:1]);",
    "places of extremes": X + "print(idxMax(X, 1)[0, 0:5]); print(idxMin(X * 2.0, 1)[0, 0:5]); "
    "print(idxMax(reverse(X), 1)[0, 0:5]); print(sum(idxMin(X, 0)));",
    "what is left of rows": X + "Y = X[[X[, 0] > 7.0, ]]; print(aggMax(Y)); print(mean(Y)); "
    "print(aggMin(Y * 2.0, 1)[0, 0:4]); print(sum(aggMin(Y, 0))); print(var(Y, 1)[0, 0:3]); "
    "print(stddev(Y)); print(mean(Y, 1)[0, 0:3]); print(sum(mean(Y, 0))); "
    "print(idxMax(Y, 1)[0, 0:4]); print(sum(idxMin(Y, 0)));",
    "what is left, reversed": X + "Y = X[[X[, 0] > 7.0, ]]; R = reverse(Y * 2.0); "
    "print(sum(cumSum(Y)[, 1])); print(idxMin(R, 1)[0, 0:4]); print(t(R) @ R[, 0:1]);",
    "bins": X + "Y = bin(X, 4); print(sum(Y)); print(Y[0:3, 0:5]); print(sum(bin(X, 3, 1.0, 7.0)));"
    "print(sum(bin(X[[X[, 0] > 7.0, ]], 5)));",
    "bins without some cells": X + "Y = (X > 8.0) ? nan : ((X < 1.0) ? inf : X); Z = bin(Y, 3); "
    "print(sum(Z == 2.0)); print(sum(Z == 0.0)); print(Z[0:2, 0:8]);",
    "recoded": X + "c, d = recode(X[, 3] * -1.0, true); print(d); print(sum(c)); print(c[0:9, ]); "
    "e, f = recode(X[, 4], false); print(f); print(sum(e)); print(sum(X)); "
    "g, h = recode(X[[X[, 0] > 7.0, ]][, 1], false); print(h); print(sum(g));",
    "zeros": "X = rand(4000, 50, 1.0, 2.0, 0.3, 7); print(sum(X != 0.0)); print(sum(X == 0.0));",
}


def compiled(text: str, **options: Any) -> tuple[Program, Settings]:
    chosen = Settings(num_threads=1, **options)
    return compile_source(Source(text, "script"), {}, chosen), chosen


def measured(program: Program, chosen: Settings) -> tuple[str, int]:
    """Return what a program prints, and the most memory that it had at once."""
    Run(chosen, io.StringIO()).program(program)
    out = io.StringIO()
    tracemalloc.start()
    Run(chosen, out).program(program)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return out.getvalue(), peak


@pytest.mark.parametrize("vec", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_comes_out_in_less_memory(name: str, vec: bool) -> None:
    expected = printed(SCRIPTS[name], vec=vec, num_threads=1)
    limit = 600_000
    program, chosen = compiled(SCRIPTS[name], vec=vec, memory_bytes=limit)
    assert "strips of" in "\n".join(lines(program))
    assert program.peak is not None
    assert program.peak[0] <= limit
    found, peak = measured(program, chosen)
    assert found == expected
    # Besides matrices there are Python's own objects.
    assert peak <= limit + 200_000 < WHOLE


def test_what_fits_is_not_cut() -> None:
    program, _ = compiled(SCRIPTS["sums"], memory_bytes=20_000_000)
    assert "strips" not in "\n".join(lines(program))


def test_one_round_gives_all_that_can_be_had(capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = compiled(SCRIPTS["sums"], memory_bytes=600_000, explain=("strips",))
    shown = capsys.readouterr().err
    assert shown.startswith("-- strips\n")
    assert shown.count("strips of") == 1
    assert "rows rand" in shown
    program, _ = compiled(SCRIPTS["two rounds"], memory_bytes=600_000)
    assert "\n".join(lines(program)).count("strips of") == 2


@pytest.mark.parametrize("suffix", ["csv", "dbdf", "npy"])
def test_files_are_read_and_written_by_rows(suffix: str, tmp_path: Path) -> None:
    here, there = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    printed(f'{X} write(X, "{here}");')
    text = f'A = readMatrix("{here}"); B = A * 0.5 + 1.0; write(B, "{there}"); print(sum(B));'
    expected = printed(text)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    there.unlink()
    program, chosen = compiled(text, memory_bytes=600_000)
    shown = "\n".join(lines(program))
    assert "rows read" in shown
    assert "append_rows write" in shown
    found, peak = measured(program, chosen)
    assert found == expected
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole
    # Text is formatted a little at a time.
    assert peak <= 2_000_000 if suffix == "csv" else peak <= 1_000_000


@pytest.mark.parametrize("suffix", ["csv", "dbdf", "npy"])
@pytest.mark.parametrize("made", ["reverse(A) * 2.0", "rbind(A + 1.0, A)", "rbind(A[0:9, ], A)"])
def test_other_rows_are_written_by_rows(made: str, suffix: str, tmp_path: Path) -> None:
    here, there = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    printed(f'{X} write(X, "{here}");')
    text = f'A = readMatrix("{here}"); B = {made}; write(B, "{there}"); print(sum(B));'
    expected = printed(text)
    whole = there.read_bytes()
    there.unlink()
    program, chosen = compiled(text, memory_bytes=600_000)
    assert "append_rows write" in "\n".join(lines(program))
    found, peak = measured(program, chosen)
    assert found == expected
    assert there.read_bytes() == whole
    assert peak <= 2_000_000 if suffix == "csv" else peak <= 1_000_000


@pytest.mark.parametrize(
    "wrong", ["aggMin(Y)", "aggMax(Y, 1)", "mean(Y)", "var(Y, 1)", "idxMax(Y, 1)"]
)
def test_nothing_left_has_no_extreme_and_no_mean(wrong: str) -> None:
    text = f"{X} Y = X[[X[, 0] > 99.0, ]]; print({wrong});"
    errors = []
    for memory in (0, 600_000):
        with pytest.raises(ScriptRunError, match="of no cells") as caught:
            printed(text, memory_bytes=memory)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    kept = f"{X} Y = X[[X[, 0] > 99.0, ]]; "
    none = "print(aggMin(Y, 0)); print(idxMax(Y, 0)); print(mean(Y, 0)); print(sum(Y));"
    assert printed(kept + none, memory_bytes=600_000) == printed(kept + none)
    assert printed(kept + none).count("(0x1, ") == 3


def test_places_of_extremes_are_those_of_numpy() -> None:
    array = np.random.default_rng(3).integers(0, 9, (4000, 50)).astype("f8")
    array[[1, 1500, 3000], 0] = np.nan
    array[2500, 1] = np.nan
    array[:, 2] = np.inf
    x = DaphneContext().from_numpy(array)
    limit = array.nbytes + 600_000
    for lazy, expected in (
        ((x * 1.0).idxMax(1), array.argmax(0)),
        ((x * 1.0).idxMin(1), array.argmin(0)),
    ):
        found = lazy.compute(Settings(memory_bytes=limit))
        np.testing.assert_array_equal(found[0], expected)


def test_a_file_that_is_written_too_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.dbdf"
    printed(f'{X} write(X, "{path}");')
    text = f'A = readMatrix("{path}"); write(A + 1.0, "{path}"); print(sum(A));'
    with pytest.raises(ScriptCompileError, match="memory"):
        compiled(text, memory_bytes=600_000)
    assert not list(tmp_path.glob("*.part"))


def test_nothing_is_left_of_a_file_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    text = f'X = seq(-3000, 90000); write((X / (X - 80000)) @ fill(1, 1, 9), "{path}");'
    with pytest.raises(ScriptRunError, match="divided by zero"):
        printed(text, memory_bytes=2_000_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [(errno.EFBIG, "get that large"), (errno.ENOSPC, "be written: .*write elsewhere")],
)
@pytest.mark.parametrize("suffix", ["csv", "npy"])
def test_a_file_for_which_there_is_no_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, code: int, says: str
) -> None:
    def full(descriptor: int, data: Any, offset: int) -> int:
        raise OSError(code, "no room")

    monkeypatch.setattr(os, "pwrite", full)
    # What is free changes while others write.
    monkeypatch.setattr(telling, "_free", lambda folder: 1 << 20)
    path = tmp_path / f"a.{suffix}"
    text = f'X = fill(1.5, 90000, 9); write(X, "{path}");'
    messages = set()
    for memory in (None, 2_000_000):
        with pytest.raises(ScriptRunError, match=f"{path} can't {says}") as caught:
            printed(text, memory_bytes=memory)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert list(tmp_path.iterdir()) == []


def test_text_for_which_there_is_no_room_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(row_files.tempfile, "TemporaryFile", full)
    with pytest.raises(ScriptRunError, match="text that waits to be printed can't be written"):
        printed("X = fill(1.5, 90000, 9); print(X);", memory_bytes=2_000_000)


def test_what_python_gives_is_taken_by_rows() -> None:
    array = np.arange(200_000.0).reshape(4000, 50)
    x = DaphneContext().from_numpy(array)
    limit = array.nbytes + 600_000
    y = (x * 2.0 + 1.0) / 3.0
    for lazy in (y.sum(), y[y.nrow() - 9 : x.nrow() + 5].sum(), y[y.nrow() : 0 : -999].sum()):
        expected = lazy.compute(Settings())
        assert lazy.compute(Settings(memory_bytes=limit)) == pytest.approx(expected)
    sparse = pytest.importorskip("scipy.sparse")
    g = sparse.random_array((4000, 50), density=0.1, rng=1, format="csr")
    y = DaphneContext().from_scipy(g)
    product = (y * 2.0) @ DaphneContext().from_numpy(np.ones((50, 30)))
    found = product.compute(Settings(memory_bytes=2_200_000))
    np.testing.assert_allclose(found, (g * 2.0) @ np.ones((50, 30)))


@pytest.mark.parametrize("vec", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize(
    "text",
    [
        X + "print(X * 2.0 + 1.0);",
        X + "print(X[[X[, 0] > 2.0, ]]); print(sum(X));",
        X + 'print("before"); print(cumSum(X), true, false); print("behind");',
        "S = rand(4000, 50, 1.0, 9.0, 0.2, 7); print(S); print(S * 2.0);",
    ],
)
def test_large_matrices_are_printed_by_rows(text: str, vec: bool) -> None:
    expected = printed(text, vec=vec, select_matrix_repr=True)
    program, chosen = compiled(text, vec=vec, select_matrix_repr=True, memory_bytes=300_000)
    assert "print_rows print" in "\n".join(lines(program))
    out = Digest()
    Run(chosen, out).program(program)
    tracemalloc.start()
    Run(chosen, out).program(program)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.digest() == hashlib.sha256(2 * expected.encode()).digest()
    assert peak <= 500_000


class Digest(io.StringIO):
    """A file that keeps nothing of what is written."""

    def __init__(self) -> None:
        super().__init__()
        self._digest = hashlib.sha256()

    def write(self, text: str) -> int:
        self._digest.update(text.encode())
        return len(text)

    def digest(self) -> bytes:
        return self._digest.digest()


def test_nothing_is_printed_half() -> None:
    text = "X = seq(-3000, 90000); print((X / (X - 80000)) @ fill(1, 1, 9));"
    program, chosen = compiled(text, memory_bytes=2_000_000)
    assert "print_rows print" in "\n".join(lines(program))
    out = io.StringIO()
    with pytest.raises(ScriptRunError, match="divided by zero") as caught:
        Run(chosen, out).program(program)
    assert out.getvalue() == ""
    assert (caught.value.line, caught.value.column) == (1, 33)


@pytest.mark.parametrize("wrong", ["X[ [0, 4000], ]", "X[i, ]", "X[0:i, 1]", "X[ [0, 1], i]"])
def test_wrong_positions_are_reported_as_ever(wrong: str) -> None:
    text = f"i = as.si64(sum(fill(2500.0, 2, 1))); {X} print({wrong});"
    errors = []
    for memory in (0, 600_000):
        with pytest.raises(ScriptRunError) as caught:
            printed(text, memory_bytes=memory)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_what_can_not_be_cut_is_refused_with_its_name() -> None:
    text = X + "print((X @ t(X))[0, 0]);"
    refused = "of memory at matmul, with strips of rows"
    with pytest.raises(ScriptCompileError, match=refused) as caught:
        compiled(text, memory_bytes=1_000_000)
    assert caught.value.line == 1


def test_random_numbers_without_a_seed_are_drawn_once() -> None:
    text = "X = rand(4000, 50, 0.0, 1.0, 1.0, -1); a = sum(X); b = sum(X - a) + a * 200000.0; "
    with pytest.raises(ScriptCompileError):
        compiled(text + "print(b);", memory_bytes=600_000)


SOURCES = [
    "floor(rand({n}, {m}, 0.0, 9.0, 1.0, 3))",
    "floor(rand({n}, {m}, 1.0, 9.0, 0.4, 5))",
    "fill(3.0, {n}, {m})",
    "seq(1.0, {n}.0) @ fill(2.0, 1, {m})",
    "reshape(seq(1.0, {cells}.0), {n}, {m})",
]
STEPS = [
    "Y = Y * 2.0 + 1.0;",
    "Y = floor(Y / 3.0);",
    "Y = Y - aggMin(Y, 1);",
    "Y = Y + aggMax(Y);",
    "Y = Y - sum(X, 0);",
    "Y = (Y > 5.0) ? Y : X;",
    "Y = Y @ diagMatrix(fill(2.0, {m}, 1));",
    "Y = abs(Y) + X[, 0];",
    "print(sum(Y));",
    "Y = cumSum(Y);",
    "Y = cumMin(Y) + cumMax(X);",
    "Y[, 0] = X[, 0] + 1.0;",
    "Y = reshape(reshape(Y, {cells}, 1) * 2.0, {n}, {m});",
    "Y = reverse(Y);",
    "Y = Y + reverse(X);",
]
ENDS = [
    "print(sum(Y)); print(aggMax(Y, 1)); print(sum(X));",
    "print(t(X) @ Y);",
    "print(t(Y) @ Y); print(sum(Y, 0)[0:2, ]);",
    "print(mean(Y, 1)); print(idxMax(Y, 0)[0:2, ]);",
    "print(Y[0:1, ]);",
    "print(Y);",
    "print(Y[1:, ]); print(Y[ [{last}, 0, {last}], ]); print(Y[-1, 0]);",
    "F = Y[[Y[, 0] > 5.0, ]]; print(nrow(F)); print(sum(F * 2.0, 1)); print(F);",
    "F = Y[[Y[, 0] > 5.0, ]]; G = X[[Y[, 0] > 5.0, ]]; print(F - G); print(cumSum(F));",
    "print(order(Y, 0, {m} - 1, true, false, false)); print(order(Y, 0, false, true));",
    "print(reshape(Y, {cells}, 1));",
    "R = rbind(Y, X * 2.0); print(R); print(sum(R)); print(idxMax(R, 1)); print(reverse(R));",
    "R = rbind(X[0:1, ], Y); print(aggMin(R, 0)); print(sum(R, 1)); print(R[0:2, ]);",
    "F = Y[[Y[, 0] > 5.0, ]]; print(aggMax(F, 0)); print(aggMin(F)); print(idxMin(F, 1));",
    "F = Y[[Y[, 0] > 5.0, ]]; print(mean(F)); print(stddev(F, 1)); print(reverse(F));",
]


@settings(max_examples=60, deadline=None)
@given(
    source=st.sampled_from(SOURCES),
    steps=st.lists(st.sampled_from(STEPS), max_size=4),
    end=st.sampled_from(ENDS),
    rows=st.integers(2, 90),
    columns=st.integers(1, 7),
    share=st.floats(0.05, 0.95),
    vec=st.booleans(),
)
def test_any_script_prints_the_same(
    source: str, steps: list[str], end: str, rows: int, columns: int, share: float, vec: bool
) -> None:
    text = " ".join([f"X = {source}; Y = X;", *steps, end])
    text = text.replace("{n}", str(rows)).replace("{m}", str(columns))
    text = text.replace("{cells}", str(rows * columns)).replace("{last}", str(rows - 1))
    program, _ = compiled(text, vec=vec)
    assert program.peak is not None
    limit = max(1, int(program.peak[0] * share))
    try:
        program, chosen = compiled(text, vec=vec, memory_bytes=limit)
    except ScriptError:
        assume(False)
    assert program.peak is not None
    assert program.peak[0] <= limit
    out = io.StringIO()
    expected, problem = ended(lambda: printed(text, vec=vec, num_threads=1))
    _, found = ended(lambda: Run(chosen, out).program(program))
    assert found == problem
    assert problem or out.getvalue() == expected


def ended(run: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a run returns, and the error that ends it."""
    try:
        return run(), ""
    except ScriptRunError as error:
        return None, str(error)


def test_strips_are_as_low_as_has_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "STRIP_NBYTES", 1 << 16)
    program, _ = compiled(SCRIPTS["sums"], memory_bytes=600_000)
    (op,) = [op for op in program.main.ops if op.kind == "strips"]
    assert op.attrs["size"] == (1 << 16) * 4000 // WHOLE
