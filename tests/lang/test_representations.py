"""Whatever a matrix is held as: the same numbers as dense, and the same text on a cluster."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freestone import Cluster
from tests.lang.scripts import printed, printed_on

MADE = """
D = rand(60, 20, 1.0, 2.0, 1.0, 1);
S = rand(60, 20, 1.0, 2.0, 0.1, 2);
C = rand(60, 20, 1.0, 2.0, 0.01, 3);
p = rand(60, 1, 0.0, 1.0, 1.0, 4); r = rand(1, 20, 0.0, 1.0, 1.0, 5); w = t(r);
"""
FORMS = ("D", "S", "C")
OPERATIONS = [
    *("A * B", "A + B", "A - B", "A / (B + 1.0)", "max(A, B)", "min(A, B)", "A > B", "A != B"),
    *("A && B", "A || B", "A < B", "A >= B", "B * A * 2.0", "A * B * B", "(A + 1.0) * B"),
    *("2.0 * A", "A * 2.0", "2 * A", "A + 1.0", "1.0 - A", "A / 2.0", "A ^ 2.0", "A % 1.5"),
    *("A * p", "A * r", "A + p", "A - r", "A * B[, 1]", "A * B[1, ]", "A * (1.0 / (p - p))"),
    *("-A", "abs(A)", "sqrt(A)", "exp(A)", "sin(A)", "isNan(A)", "round(A)", "sign(A - B)"),
    *("as.f32(A)", "as.si64(A)", "as.si64(A) * as.si64(B)", "as.ui8(A) + as.ui8(B)"),
    *("t(A)", "t(A) * 2.0", "2.0 * t(A)", "t(A) * t(B)", "t(t(A) * w)", "t(A) + t(B)"),
    *("t(A) @ A", "t(A) @ B", "t(A) @ p", "A @ t(B)", "A @ w", "t(p) @ A", "A @ (t(B) @ p)"),
    *("syrk(A)", "gemv(A, p)", "t(A) @ (A * B)", "t(A * B) @ (A * B)", "t(A) @ A @ t(B)"),
    *("A[3:9, ]", "A[, 2]", "A[ [5, 0], ]", "A[-1, 3:5]", "A[[p > 0.5, ]]", "A[[, w > 0.5]]"),
    *("A[0:41, ] * B[19:60, ]", "cbind(A, B)", "rbind(A, B)", "reverse(A)", "reshape(A, 20, 60)"),
    *("order(A, 0, true, false)", "cumSum(A)", "replace(A, 0.0, 1.0)", "(A > 1.5) ? A : B"),
    *("sum(A)", "sum(A, 0)", "sum(A, 1)", "aggMax(A)", "aggMax(A, 0)", "aggMin(A, 1)"),
    *("mean(A)", "mean(A, 0)", "var(A, 1)", "stddev(A)", "idxMax(A, 0)", "idxMin(A, 1)"),
    *("sum(A * B)", "sum(A * B, 0)", "sum(A * B, 1)", "aggMax(A * r, 0)", "aggMax((A * p) @ w)"),
    *("sum(t(A), 0)", "sum(t(A) * t(B))", "aggMin(t(A))", "sparsity(A)", "ncell(A)"),
    *("createFrame(A[, 0], B[, 1])", "createList(A, B)", "diagVector(t(A) @ B)", "A ? A : B"),
]


def forms_of(operation: str) -> str:
    """Print an operation of matrices that are held in every way."""
    pairs = [(a, b) for a in FORMS for b in (FORMS if "B" in operation else "D")]
    texts = [re.sub(r"\bB\b", b, re.sub(r"\bA\b", a, operation)) for a, b in pairs]
    return "\n".join(f"print({text});" for text in texts)


def numbers(text: str) -> list[str]:
    """Return what is printed without saying how it is held; zeros without a sign."""
    text = re.sub(r"\b(CSR|Dense)Matrix\(", "Matrix(", text)
    return re.sub(r"-0\b(?!\.)", "0", text).splitlines()


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(two_workers: Cluster, operation: str, fused: bool) -> None:
    options = {"vec": fused, "select_matrix_repr": True}
    script = MADE + forms_of(operation)
    found = printed(script, **options)
    assert printed_on(two_workers, script, **options) == found
    dense = MADE + "S = S + 0.0; C = C + 0.0;" + forms_of(operation)
    assert numbers(found) == numbers(printed(dense, **options))


def test_how_a_matrix_is_held_shows() -> None:
    options = {"select_matrix_repr": True}
    shown = printed(f"{MADE} print(typeOf(D)); print(typeOf(S)); print(typeOf(C));", **options)
    assert [line.split("(")[0] for line in shown.split()[::2]] == ["DenseMatrix"] + 2 * [
        "CSRMatrix"
    ]
    for kept in ("D * S", "S * D", "D * C", "C * D", "2.0 * S", "2.0 * C", "C + C", "as.f32(C)"):
        assert printed(f"{MADE} print(typeOf({kept}));", **options).startswith("CSRMatrix")


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize(
    "change",
    [
        "if (sum(S) > 0.0) S = -S;",
        "i = 0; while (i < as.si64(sum(S) > 0.0)) { S = -S; i = i + 1; }",
        "for (i in 1:2) { S = S + 0.0; S = rand(60, 20, 1.0, 2.0, 0.1, i); }",
    ],
)
def test_what_a_branch_or_a_round_changes_is_held_alike(change: str, fused: bool) -> None:
    big = "S = rand(3000, 60, 1.0, 2.0, 0.1, 2);"
    for made in (MADE, big):
        script = f"{made} {change} print(as.f32(S)); print(round(S)); print(S * 2.0); print(-S);"
        plain = printed(script, select_matrix_repr=True)
        assert printed(script, select_matrix_repr=True, vec=fused) == plain


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Make operations of operations that keep the shape."""
    signs = st.sampled_from(["*", "+", "-", ">", "&&"])
    names = st.sampled_from(["abs", "-", "sin", "as.f64", "round", "2.0 * "])
    others = st.sampled_from(["2.0", "p", "r", "D"])
    return st.one_of(
        st.tuples(inner, signs, inner | others).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(names, inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        inner.map(lambda text: f"t(t({text}) * 2.0)"),
    )


ENDS = ["{}", "t({})", "sum({})", "aggMax({}, 0)", "({}) @ w", "t({}) @ p", "t({}) @ D"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    expression=st.recursive(st.sampled_from(FORMS), grown, max_leaves=5),
    end=st.sampled_from(ENDS),
    fused=st.booleans(),
)
def test_any_expression(two_workers: Cluster, expression: str, end: str, fused: bool) -> None:
    options = {"vec": fused, "select_matrix_repr": True}
    script = f"{MADE} E = abs({expression}); print({end.format(expression)}); print(sum(E));"
    assert printed_on(two_workers, script, **options) == printed(script, **options)
