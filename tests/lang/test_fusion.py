"""Which operations become one pipeline, and in which order pipelines run."""

from __future__ import annotations

import random

import numpy as np
import pytest

from freestone.lang.compile import fusion
from freestone.lang.daphnelib import DaphneContext, small
from freestone.lang.front.graph.graph import Program, Value, outer_operands
from freestone.lang.front.parse.source import Source
from freestone.lang.front.types.scalars import wrapped
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels import elementwise
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings
from tests.lang.scripts import both, outcome

CONTEXT = DaphneContext()

# Two chains, of which each reads a total or a row of the other one.
CROSSED = {
    "totals of each other": """
        X = seq(1.0, 6.0); Y = seq(2.0, 7.0);
        A = X * 2; B = Y * 3;
        C = A * sum(B); D = B - sum(A);
        print(sum(C + 1)); print(sum(D * 2));""",
    "rows of each other": """
        X = reshape(seq(1.0, 6.0), 3, 2); Y = reshape(seq(2.0, 7.0), 3, 2);
        A = X * 2; B = Y * 3;
        C = A * B[0, ]; D = B - A[0, ];
        print(C + 1); print(D * 2);""",
    "a ring of three": """
        X = seq(1.0, 6.0);
        A = X * 2; B = X + 3; C = sqrt(X);
        D = A * sum(B); E = B - sum(C); F = C / sum(A);
        print(D + 1); print(E + 2); print(F + 3);""",
    "a total on the way back": """
        A = as.f32(reshape([2, 2, 2, 7], 2, 2)); B = as.f32(reshape([1, 2, 0, 2], 2, 2));
        V = B + as.f64(idxMax(A * B[-1, ], 0)) + A;
        print(max(B - A, V));""",
}


@pytest.mark.parametrize("text", CROSSED.values(), ids=CROSSED)
def test_pipelines_never_need_each_other(text: str) -> None:
    assert both(text)


def ordered(program: Program) -> None:
    """Check that each operation of a plan comes after all that it reads."""
    for block in program.blocks():
        pending = {result for op in block.ops for result in op.results}
        for op in block.ops:
            late = [value for value in outer_operands(op) if value in pending]
            assert not late, f"{op.name} at {op.place} reads what comes later"
            pending.difference_update(op.results)


def chains(seed: int, length: int) -> str:
    """Return a script of chains that read each other's cells, columns, rows, and totals."""
    draw = random.Random(seed)
    lines = ["V0 = rand(5, 3, 1.0, 2.0, 1.0, 1);", "V1 = rand(5, 3, 1.0, 2.0, 1.0, 2);"]
    forms = ["V{a} + V{b}", "V{a} * sum(V{b})", "V{a} - sum(V{b}, 0)", "V{a} + V{b}[-1, ]"]
    forms += ["reverse(V{a})", "max(V{a}, aggMax(V{b}, 1))", "V{a} * as.scalar(V{b}[0, 0])"]
    for at in range(2, length):
        a, b = (draw.randrange(max(0, at - 12), at) for _ in "ab")
        lines.append(f"V{at} = {draw.choice(forms).format(a=a, b=b)};")
    return "\n".join([*lines, f"print(sum(V{length - 1}));", f"print(sum(V{length - 2}, 1));"])


@pytest.mark.parametrize("seed", range(20))
def test_any_chains_have_an_order(seed: int) -> None:
    text = chains(seed, 80)
    program = compile_source(Source(text, "script"), {}, Settings(vec=True))
    ordered(program)
    assert any(op.kind == "pipeline" for op in program.main.ops)


def test_thousands_of_operations_are_looked_at_a_few_times_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from freestone.lang.compile import fusion

    asked: list[Value] = []
    time_of = fusion._Fusion._time_of

    def counted(self: fusion._Fusion, value: Value) -> int:
        asked.append(value)
        return time_of(self, value)

    monkeypatch.setattr(fusion._Fusion, "_time_of", counted)
    program = compile_source(Source(chains(1, 4000), "script"), {}, Settings(vec=True))
    ordered(program)
    fused = sum(len(op.regions[0].ops) for op in program.main.ops if op.kind == "pipeline")
    assert 2000 < fused < 10_000
    assert len(asked) < 10 * fused


def test_a_pipeline_that_fails_does_so_after_what_is_printed_before_it() -> None:
    text = "X = seq(1, 3); Y = X * 2; print(Y); Z = Y / (Y - X * 2); print(Z);"
    printed = "DenseMatrix(3x1, int64_t)\n2\n4\n6\n"
    for vec in (False, True):
        assert outcome(text, vec=vec).startswith(f"{printed}integers are divided by zero\n")


@pytest.mark.parametrize("cell", ["si8", "ui8", "si32", "ui32", "si64", "ui64"])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_numbers_that_are_no_integers_become_the_same_in_every_mode(
    cell: str, real: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, "MANY_CELLS", 1)
    numbers = "1e30, -1e30, nan, inf, -inf, -2.75, 9.3e18, -9.3e18, 1.8e19, 300.0, 3e9, 0.0"
    text = f"X = as.{real}([{numbers}](3, 4)); print(as.{cell}(X)); print(as.{cell}(t(X)) + 1);"
    text += f" print(pow(as.{cell}(as.si64([0, 2, 1])), -1)); "
    text += f"print(as.{cell}(as.scalar([1e30]))); print(as.{cell}(as.scalar([nan])));"
    plain = outcome(text)
    assert "DenseMatrix" in plain
    assert outcome(text, vec=True, num_threads=1) == plain


@pytest.mark.parametrize("cell", ["si64", "ui64", "si32", "ui32", "si8", "ui8"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_floats_of_any_size_and_layout_become_integers(cell: str, dtype: str) -> None:
    cells = np.random.default_rng(3).normal(size=(40, 30)) * 10.0 ** np.arange(-4, 26)
    cells[0, :5] = np.nan, np.inf, -np.inf, -0.0, 2.0**63
    cells = cells.astype(dtype)
    whole = [[wrapped(cell, each) for each in row] for row in cells.tolist()]
    expected = np.array(whole, DTYPES[cell])
    for view in (np.s_[:], np.s_[::2, ::-3], np.s_[5:9, :1], np.s_[:0]):
        for found, wanted in (
            (elementwise.converted(cells[view], cell), expected[view]),
            (elementwise.converted(cells[view].T, cell), expected[view].T),
        ):
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_pipeline_that_is_kept_takes_other_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "MANY_CELLS", 1)
    monkeypatch.setattr(small, "MAX_BYTES", 0)
    context, settings = DaphneContext(), Settings(vec=True, num_threads=2)
    random = np.random.default_rng(4)
    for layout in ("C", "F", "C"):
        one, two = (np.asarray(random.random((300, 7)), order=layout) for _ in range(2))
        for left, right in (
            (one, two),
            (one, one),
            (two, one[:1].copy()),
            (one, two[:, :1].copy()),
        ):
            x, y = context.from_numpy(left), context.from_numpy(right)
            number = y.sum()
            for lazy, wanted in (
                ((x - y) * x + 2.0, (left - right) * left + 2.0),
                ((x - y).aggMax(1), (left - right).max(axis=0, keepdims=True)),
                ((x + y) * number, (left + right) * right.sum()),
            ):
                np.testing.assert_allclose(lazy.compute(settings), wanted, rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 7), (3, 7), (7, 3), (40, 130), (300, 31), (301, 33), (6, 6)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_matrices_of_any_shape_are_multiplied_within_a_pipeline(
    shape: tuple[int, int], dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    random, context = np.random.default_rng(3), DaphneContext()
    x, v = random.integers(-9, 9, shape).astype(dtype), random.integers(-9, 9, (shape[1], 1))
    lazy, vector = context.from_numpy(x), context.from_numpy(v.astype(dtype))
    found = (lazy @ vector * 2).compute(Settings(vec=True, tell_pipelines=True))
    assert "fused in" in capfd.readouterr().err
    np.testing.assert_array_equal(found, (x @ v * 2).astype(dtype))


def test_a_vector_that_is_a_side_of_its_product_has_to_fit() -> None:
    context = DaphneContext()
    x, v = np.arange(12.0).reshape(3, 4), np.arange(4.0).reshape(4, 1)
    lazy, vector = context.from_numpy(x), context.from_numpy(v)
    with pytest.raises(Exception, match="shape"):
        (lazy @ vector + vector).compute(Settings(vec=True, tell_pipelines=True))
    square = context.from_numpy(x[:, :3].copy())
    column = context.from_numpy(v[:3].copy())
    found = (square @ column + column).compute(Settings(vec=True, tell_pipelines=True))
    np.testing.assert_array_equal(found, x[:, :3] @ v[:3] + v[:3])


@pytest.mark.parametrize("cell", ["f64", "f32", "si64", "ui8"])
def test_large_outer_operations_and_replacements_are_pipelines(cell: str) -> None:
    rows, columns = 400, 350
    dtype = DTYPES[cell]
    tall = (np.arange(rows).reshape(-1, 1) % 7).astype(dtype)
    wide = (np.arange(columns).reshape(1, -1) % 5).astype(dtype)
    one, other = CONTEXT.from_numpy(tall), CONTEXT.from_numpy(wide)
    whole = one.outerMul(other)
    assert "pipeline" in whole.explain()
    cells = whole.compute()
    np.testing.assert_array_equal(cells, tall * wide, strict=True)
    replaced = CONTEXT.from_numpy(cells).replace(6, 1.5)
    assert "pipeline" in replaced.explain()
    expected = np.where(cells == 6, np.asarray(1.5).astype(dtype), cells)
    np.testing.assert_array_equal(replaced.compute(), expected, strict=True)


def test_a_nan_is_replaced_in_a_pipeline_and_zeros_are_equal() -> None:
    cells = np.zeros((400, 350))
    cells[::3, ::2], cells[1, 1], cells[2, 2] = np.nan, -0.0, 5
    x = CONTEXT.from_numpy(cells)
    for pattern, hit in ((np.nan, np.isnan(cells)), (0.0, cells == 0)):
        found = x.replace(pattern, 2.0).compute()
        np.testing.assert_array_equal(found, np.where(hit, 2.0, cells))
    assert "replace" in x.replace(x.sum(), 2.0).explain()


def test_outer_operations_read_what_the_same_pipeline_makes() -> None:
    text = "X = rand(600, 300, 1.0, 2.0, 1.0, 1); r = X[3, ]; s = sum(X, 0);"
    text += "print(sum(outerMul(s + 1, r) + X)); print(aggMax(outerAdd(X[, 2], r * 2), 1));"
    text += "i = as.si64(s); print(sum(outerMod(i, as.si64(r))));"
    assert both(text)
    failing = "i = seq(1, 600); j = reshape(seq(0, 299), 1, 300); print(sum(outerMod(i, j)));"
    assert outcome(failing, vec=True) == outcome(failing)
    assert "divided by zero" in outcome(failing)


@pytest.mark.parametrize("kind", ["i8", "u8", "i4", "i1"])
def test_extremes_of_compiled_chains_of_integers_are_numpys(kind: str) -> None:
    rng = np.random.default_rng(4)
    bounds = np.iinfo(kind)
    cells = rng.integers(bounds.min, bounds.max, (311, 257), kind, endpoint=True)
    cells[300, 7], cells[5, 250] = bounds.max, bounds.min
    other = rng.integers(0, 3, cells.shape, kind)
    x, y = CONTEXT.from_numpy(cells), CONTEXT.from_numpy(other)
    for made, wanted in ((x, cells), (x + y, cells + other), (x * y - x, cells * other - cells)):
        assert made.aggMax().compute() == wanted.max()
        assert made.aggMin().compute() == wanted.min()
        np.testing.assert_array_equal(made.aggMax(0).compute()[:, 0], wanted.max(1))
        np.testing.assert_array_equal(made.aggMin(1).compute()[0], wanted.min(0))
