"""What each pass does to the plan; and what a script prints does not change by it."""

import io
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors.lang import ScriptCompileError, ScriptRunError, ScriptSyntaxError
from freestone.lang import script
from freestone.lang.front.graph.explaining import lines
from freestone.lang.front.parse.source import Source
from freestone.lang.script import compile_source, run_text
from freestone.lang.settings import Settings
from tests.lang.scripts import printed

A = "A = reshape(seq(1.0, 30.0), 10, 3); x = seq(1.0, 10.0); "
S = "S = rand(50, 40, 1.0, 2.0, 0.05, 7); "


def plan(text: str, **settings: Any) -> str:
    """Return the plan of a script after all passes, without its memory."""
    program = compile_source(Source(text, "script"), {}, Settings(**settings))
    program.peak = None
    return "\n".join(lines(program))


def unchanged(text: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Check that a script prints the same without any pass."""
    found = printed(text, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(script, "PASSES", ())
        assert printed(text) == found


CASES = [
    ("syrk", A + "print(t(A) @ A);", {}, ["syrk %1"], ["matmul", "transpose"]),
    ("gemv", A + "print(t(A) @ x);", {}, ["gemv %1 %2"], ["matmul", "transpose"]),
    ("sum of products", A + "print(sum(A * A));", {}, ["sum_product"], ["binary mul", "agg_all"]),
    ("fused sum of products", A + "print(sum(A * A));", {"vec": True}, ["fused"], ["sum_product"]),
    ("two transposes", A + "print(t(t(A)));", {}, ["print"], ["transpose"]),
    ("extreme of a transpose", A + "print(aggMax(t(A)));", {}, ["agg_all max"], ["transpose"]),
    ("sum of a transpose", "B = [1, 2, 3]; print(sum(t(B)));", {}, ["agg_all"], ["transpose"]),
    ("common parts", A + "print(sum(exp(A)) + mean(exp(A)));", {}, ["unary exp"], []),
    ("constants", "x = 2; print(x * 3 + 1);", {}, ["print 7"], ["binary"]),
    ("unused", A + "B = exp(A); print(nrow(A));", {}, ["print 10"], ["exp"]),
    (
        "fusion of a chain",
        A + "print(sum((A * 2.0 + 1.0) / 3.0));",
        {"vec": True},
        ["pipeline", "agg_all sum"],
        [],
    ),
    (
        "fusion across row sums and broadcasts",
        A + "print(sum(A / sum(A, 0)));",
        {"vec": True},
        ["agg_row sum", "binary div"],
        [],
    ),
    (
        "two results of one pipeline",
        A + "B = A * 2.0; print(sum(B)); print(aggMax(B, 1));",
        {"vec": True},
        ["agg_all sum", "agg_col max"],
        [],
    ),
    (
        "casts in pipelines",
        A + "print(sum(as.si64(A) * 2));",
        {"vec": True},
        ["pipeline", "cast"],
        [],
    ),
    (
        "means in pipelines",
        A + "print(mean(A * 2.0)); print(mean(as.si64(A), 0));",
        {"vec": True},
        ["agg_all sum", "agg_row sum"],
        ["agg_all mean", "agg_row mean"],
    ),
    (
        "variances in pipelines",
        A + "print(var(A)); print(stddev(A, 1)); print(var(A, 0));",
        {"vec": True},
        ["agg_all sum", "agg_col sum", "agg_row sum", "unary sqrt"],
        ["agg_all var", "agg_col stddev", "agg_row var"],
    ),
    ("results over operands", A + "B = exp(A); print(B + 1.0);", {}, ["over %"], []),
    (
        "operands that are read later are kept",
        A + "B = exp(A); print(B + 1.0); print(B); print(A);",
        {},
        ["unary exp %1\n", "binary add %2 1\n"],
        ["over"],
    ),
]


@pytest.mark.parametrize(
    ("text", "settings", "there", "gone"), [c[1:] for c in CASES], ids=[case[0] for case in CASES]
)
def test_a_pass_changes_the_plan_and_not_the_result(
    text: str,
    settings: dict[str, Any],
    there: list[str],
    gone: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = plan(text, **settings) + "\n"
    for words in there:
        assert words in made
    for words in gone:
        assert words not in made
    unchanged(text, monkeypatch, **settings)


def test_a_csr_matrix_is_chosen() -> None:
    """Its numbers are others: `rand` draws those of the representation."""
    assert "csr" in plan(S + "print(sum(S * 2.0));", select_matrix_repr=True)


def test_common_parts_are_computed_once() -> None:
    assert plan(A + "print(sum(exp(A)) + mean(exp(A)));").count("unary exp") == 1


def test_one_pipeline_has_both_results() -> None:
    text = A + "B = A * 2.0; print(sum(B)); print(aggMax(B, 1));"
    assert plan(text, vec=True).count("= pipeline") == 1


def test_what_does_not_change_leaves_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    text = A + "s = 0.0; for (i in 1:3) { s = s + sum(t(A) @ exp(A)) * as.f64(i); } print(s);"
    before, _, inside = plan(text).partition("for ")
    assert "unary exp" in before
    assert "matmul" in before
    assert "exp" not in inside
    unchanged(text, monkeypatch)


def test_what_could_fail_stays_in_its_loop() -> None:
    text = "A = [1, 2]; i = 5; while (i < 5) { print(A / 0); i = i + 1; } print(1);"
    assert printed(text) == "1\n"


def test_buffers_are_used_again() -> None:
    text = "A = rand(500, 500, 0.0, 1.0, 1.0, 1); B = exp(A); C = B * 2.0; D = sqrt(C) + 1.0; "
    peaks = []
    for forget in (True, False):
        tracemalloc.start()
        run_text(text + "print(sum(D));", settings=Settings(forget=forget), out=io.StringIO())
        peaks.append(tracemalloc.get_traced_memory()[1] / (500 * 500 * 8))
        tracemalloc.stop()
    # One matrix, and what rand takes to draw it; without, each has memory of its own.
    assert peaks[0] < 2.5
    assert peaks[1] > 4


def test_operands_from_outside_are_never_written_over() -> None:
    text = "def f(x: matrix<f64>) -> matrix<f64> { return x + 1.0; } "
    text += "A = [1.0, 2.0]; B = f(A); C = A; D = C * 2.0; print(A); print(B); print(D);"
    out = printed(text)
    assert out == (
        "DenseMatrix(2x1, double)\n1\n2\nDenseMatrix(2x1, double)\n2\n3\n"
        "DenseMatrix(2x1, double)\n2\n4\n"
    )


@pytest.mark.parametrize("settings", [{"physical": False}, {"propagate": False}, {"forget": False}])
def test_passes_that_are_turned_off(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = A + "def f(n) { return n * 2; } print(t(A) @ A); print(f(3)); print(sum(A * A));"
    made = plan(text, **settings)
    if settings == {"physical": False}:
        assert "syrk" not in made
        assert "matmul" in made
    if settings == {"propagate": False}:
        assert "def f(%0: si64)" in made
        assert "binary mul %0 2" in made
    if settings == {"forget": False}:
        assert "over" not in made
    unchanged(text, monkeypatch, **settings)


def test_only_marked_operations_are_fused_when_reported() -> None:
    text = A + "print(sum(exp(A) * 2.0)); print(sum(exp(A) + 1.0, 0));"
    made = plan(text, vec=True, restricted=True)
    assert "pipeline" in made
    assert "\nagg_row" in made.replace(": ", "\n").replace("= ", "\n")
    assert printed(text, vec=True, restricted=True) == printed(text)


def test_what_one_run_finds_another_one_knows(tmp_path: Path) -> None:
    from freestone.lang.front.properties import save
    from freestone.lang.run.local import Run

    text = "A = seq(0.0, 99.0); B = diagMatrix(A); C = B * 2.0; print(sum(C));"
    settings = Settings(record="yes")
    run = Run(settings, io.StringIO())
    run.program(compile_source(Source(text, "script"), {}, settings))
    save(run.properties, str(tmp_path / "properties.json"))
    found = {name: share for name, share in run.properties.items() if "diag_matrix" in name}
    assert list(found.values()) == [0.0099]
    insert = str(tmp_path / "properties.json")
    made = compile_source(Source(text, "script"), {}, Settings(insert=insert))
    shares = [op.results[0].type.sparsity for op in made.main.ops if op.kind == "diag_matrix"]
    assert shares == [0.0099]
    (tmp_path / "broken.json").write_text("[1]")
    with pytest.raises(ScriptCompileError, match="can't be read"):
        printed(text, insert=str(tmp_path / "broken.json"))


def test_kernels_of_the_user(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("def total(x): return x.sum() + 100\ndef twice(x, y): return x * 2\n")
    second.write_text("def total(x): return x.sum() + 200\n")
    kernels = ((str(second), 5), (str(first), 1))
    text = "A = [1.0, 2.0]; print(sum::total(A)); print(A +::twice A); print(sum(A));"
    assert printed(text, kernels=kernels) == "203\nDenseMatrix(2x1, double)\n2\n4\n3\n"
    assert printed(text, kernels=kernels, vec=True) == printed(text, kernels=kernels)
    second.write_text("1 / 0")
    with pytest.raises(ScriptSyntaxError, match="there is no kernel 'total'"):
        printed(text)
    third = tmp_path / "third.py"
    third.write_text("def wide(x, y): return x.reshape(1, -1)\n")
    with pytest.raises(ScriptRunError, match="returns elements of shape"):
        printed("A = [1.0, 2.0]; print(A +::wide A);", kernels=((str(third), 0),))
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(ScriptCompileError, match="ZeroDivisionError"):
        printed("print(1);", kernels=((str(broken), 0),))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("k.json", '[{"opMnemonic": "ewAdd"}]', "kernel 1 has no 'kernelFuncName'"),
        ("k.py", '[{"opMnemonic": "ewAdd"}]', "it defines no function"),
        ("k.py", "def f(:", "SyntaxError"),
        ("k.py", "raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_a_file_without_kernels_is_refused(
    name: str, content: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ScriptCompileError, match=problem):
        printed("print(1);", kernels=((str(path), 0),))


@pytest.mark.parametrize("suffix", ["npy", "arrow", "parquet", "dbdf", "csv", "mtx"])
def test_files_of_all_formats(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"A.{suffix}"
    text = f'A = [1.5, 2.0, 3.0, 4.0](2, 2); F = as.frame(A); X = readMatrix("{path}"); print(X);'
    array = np.array([[1.5, 2.0], [3.0, 4.0]])
    if suffix in ("npy", "mtx"):
        fs.write(array, path)
    else:
        printed(
            f"A = [1.5, 2.0, 3.0, 4.0](2, 2); F = as.frame(A); "
            f'write({"F" if suffix in ("arrow", "parquet") else "A"}, "{path}");'
        )
    assert printed(text) == "DenseMatrix(2x2, double)\n1.5 2\n3 4\n"
    frame = printed(f'print(readFrame("{path}"));')
    assert frame.endswith("1.5 2\n3 4\n")


def test_formats_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "a.what").write_text("1")
    with pytest.raises(ScriptRunError, match="what"):
        printed(f'x = readMatrix("{tmp_path}/a.what");')
    with pytest.raises(ScriptRunError, match="what"):
        printed(f'write([1.0], "{tmp_path}/b.what");')


def test_what_a_list_holds_is_not_written_over() -> None:
    text = "A = [1.0, 2.0]; B = exp(A - A); L = createList(B, B); C = B + 1.0; D = sqrt(C); "
    text += "L = append(L, C * 0.0); print(L); print(D * D);"
    assert printed(text).endswith("0\n0\nDenseMatrix(2x1, double)\n2\n2\n")
    text = "X = [4.0, 9.0]; L = createList(X); Y = sqrt(X); print(L); print(Y);"
    assert printed(text).startswith(
        "List(1, DenseMatrix, double)\nDenseMatrix(2x1, double)\n4\n9\n"
    )


COPIES = [
    "Y = X; X[, 1] = X[, 2]; print(Y);",
    "Y = t(X); X[, 1] = X[, 2]; print(Y);",
    "Y = X[1:3, ]; X[, 1] = X[, 2]; print(Y);",
    "Y = reshape(X, 3, 7); X[2, ] = X[3, ]; print(Y);",
    "Y = reverse(X); X[0, ] = X[5, ]; print(Y); print(X);",
    "L = createList(X); X[, 0] = X[, 2]; print(L);",
    "def f(A: matrix<f64>) -> matrix<f64> { A[, 0] = A[, 1]; return A; } Y = f(X); print(X + Y);",
    "Y = X; for (i in 0:2) { X[, i] = X[, 2] + 1.0; } print(Y - X);",
    "Y = X; if (sum(X) > 0.0) { X[0, ] = X[1, ]; } print(Y); print(X);",
]


@pytest.mark.parametrize("forget", [True, False])
@pytest.mark.parametrize("vec", [True, False])
@pytest.mark.parametrize("text", COPIES)
def test_who_looks_at_a_matrix_sees_no_assignment(text: str, vec: bool, forget: bool) -> None:
    made = "X = rand(7, 3, 1.0, 9.0, 1.0, 1); "
    plain = printed(made + text, vec=vec, forget=forget)
    # What was computed anew is nobody else's.
    assert plain == printed(made + re.sub(r"(?<=Y = )([^;]+)", r"(\1) * 1.0", text))
    assert plain == printed(made + re.sub(r"(\w)\[([^]]+)\] =", r"\1 = \1 * 1.0; \1[\2] =", text))


def test_a_part_is_written_in_place_where_nobody_else_looks() -> None:
    text = "X = rand(1000, 500, 0.0, 1.0, 1.0, 1); for (i in 0:9) { X[, i] = fill(1.0, 1000, 1); } "
    for more in ("", "if (sum(X) > 1.0) { X[0, ] = fill(2.0, 1, 500); } "):
        run_text(text + more + "print(sum(X));", settings=Settings(), out=io.StringIO())
        tracemalloc.start()
        run_text(text + more + "print(sum(X));", settings=Settings(), out=io.StringIO())
        peak = tracemalloc.get_traced_memory()[1] / (1000 * 500 * 8)
        tracemalloc.stop()
        assert peak < 1.5
