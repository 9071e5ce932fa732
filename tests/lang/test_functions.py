"""Functions of scripts: overloads by the types of their parameters, and several results."""

import pytest

from freestone.errors.lang import ScriptSyntaxError
from tests.lang.scripts import both, printed

SCALARS = "def f(x: si64) { return 1; } def f(x: f64) { return 2; } def f(x: str) { return 3; } "
MATRICES = "def f(x: matrix<f64>) { return 4; } def f(x: matrix) { return 5; } "
ANY = "def f(x) { return 6; } "


@pytest.mark.parametrize(
    ("functions", "call", "expected"),
    [
        (SCALARS, "f(7)", "1"),
        (SCALARS, "f(x = 7.5)", "2"),
        (SCALARS, 'f("a")', "3"),
        (SCALARS, "f(as.si8(7))", "1"),
        (SCALARS, "f(7.5f)", "2"),
        (SCALARS, "f(7u)", "2"),
        (SCALARS + ANY, "f(as.si8(7))", "6"),
        (MATRICES, "f([7.5])", "4"),
        (MATRICES, "f([7])", "5"),
        (SCALARS + MATRICES, "f([7])", "5"),
        (SCALARS + MATRICES + ANY, 'f({"a": [7]})', "6"),
        (
            "def f(x: f64) { return 1; } def f(x: f64, y) { return 2; } ",
            "f(1.0, y = 2)",
            "2",
        ),
        ("def f(x: f64) { return 1; } def f() { return 2; } ", "f()", "2"),
    ],
)
def test_the_overload_that_fits_best_is_called(functions: str, call: str, expected: str) -> None:
    assert both(f"{functions} print({call});") == f"{expected}\n"


def test_overloads_call_each_other_and_themselves() -> None:
    text = (
        "def f(x: si64) -> si64 { if (x < 1) return 0; return x + f(x - 1); } "
        "def f(x: f64) -> f64 { return f(as.si64(x)) + 0.5; } print(f(4)); print(f(3.0));"
    )
    assert both(text) == "10\n6.5\n"


def test_map_takes_the_overload_for_its_elements() -> None:
    assert both(f"{SCALARS} print(map([7, 8], f));") == "DenseMatrix(2x1, int64_t)\n1\n1\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{SCALARS} f([1]);", r"no f takes \(matrix<si64> 1x1\); there are f\(x: si64\); f\(x"),
        ("def f(x: f64) { return 1; } def f(x: f64) { return 2; }", "defined twice"),
        ("def f(x: f64) { return 1; } def f(y: si64) { return 2; }", "same names of parameters"),
    ],
)
def test_what_overloads_can_not_do(text: str, problem: str) -> None:
    with pytest.raises(ScriptSyntaxError, match=problem):
        printed(text)


def test_several_results_need_no_declared_types() -> None:
    text = (
        "def f(x, y) { return x + y, x * y; } a, b = f(2, 1.5); print(a); print(b); "
        "def g(n) { if (n <= 0) return n, 1; a, b = g(n - 1); return a + n, b * 2; } "
        "a, b = g(4); print(a); print(b);"
    )
    assert both(text) == "3.5\n3\n10\n16\n"
