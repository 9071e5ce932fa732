"""The language: literals, types, precedence, control flow, functions, arguments."""

import io
from pathlib import Path

import pytest

from freestone.errors.lang import (
    ScriptCompileError,
    ScriptError,
    ScriptRunError,
    ScriptStoppedError,
    ScriptSyntaxError,
)
from freestone.lang.front.parse.source import read_source
from freestone.lang.script import run_text
from tests.lang.scripts import both, printed

INDEXES = "x = idxMax([1, 5, 2, 4](2, 2), 0); "


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("x[0:1, ] = [7];", 7),
        ("x[0, 0] = 7;", 7),
        ("x[0, ] = fill(7, 1, 1);", 7),
        ("x[0, 0] = 9223372036854775808u;", 2**63),
        ("x[0:1, ] = as.ui64([7]);", 7),
        ("x[0, 0] = nrow(x);", 2),
    ],
)
def test_indexes_are_assigned_literals(statement: str, first: int) -> None:
    assert both(f"{INDEXES}{statement} print(x);") == f"DenseMatrix(2x1, uint64_t)\n{first}\n1\n"


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("-1", "x holds indexes, which are not negative; -1 is"),
        ("[-2]", "x holds indexes, which are not negative; -2 is"),
        ("7.0", "x holds index, not f64; write as.ui64"),
        ("as.si64(x[1, ])", "x holds index, not si64; write as.ui64"),
    ],
)
def test_what_is_no_index_is_refused_with_a_cast_that_exists(part: str, says: str) -> None:
    with pytest.raises(ScriptCompileError, match=says):
        printed(f"{INDEXES}x[0, ] = {part};")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1.0e6", "1e+06"),
        ("0.1234", "0.1234"),
        ("5001530.0", "5.00153e+06"),
        ("0.0 / 0.0", "-nan"),
        ("nan", "nan"),
        ("1.0 / 0.0", "inf"),
        ("-1.0 / 0.0", "-inf"),
        ("5 / 2", "2"),
        ("-5 / 2", "-2"),
        ("-5 % 3", "-2"),
        ("true", "1"),
        ("1_000'000", "1000000"),
        ("1_000.2'5", "1000.25"),
        ("1'0e2f", "1000"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615u", "18446744073709551615"),
        ("2.5f", "2.5"),
        ('"a\\tb"', "a\tb"),
        ('"x=" + 1.5', "x=1.500000"),
        ('"x=" + 7', "x=7"),
        ("-2 ^ 2", "4"),
        ("2 ^ 3 ^ 2", "64"),
        ("2 * 7 % 4", "6"),
        ("1 + 2 * 3", "7"),
        ("10 - 2 - 3", "5"),
        ("true ? 1 : false ? 2 : 3", "2"),
        ("1 ? 0 ? 5 : 6 : 7", "6"),
        ("1 < 2 && 3 > 4 || 1 == 1", "1"),
        ("2.5 == 2.5", "1"),
        ('"a" == "a"', "1"),
        ("as.si64(2.9)", "2"),
        ("as.si64(1.0e30)", "9223372036854775807"),
        ("as.si64(-inf)", "-9223372036854775808"),
        ("as.si64(nan)", "0"),
        ("as.si64(9223372036854774784.0)", "9223372036854774784"),
        ("as.si8(1.0e30)", "-1"),
        ("as.ui8(257)", "1"),
        ("as.si8(200)", "-56"),
        ('as.f64("2.5") * 2', "5"),
        ("as.scalar([7])", "7"),
        ("7 % 4 + 0.5", "3.5"),
        ("inf", "inf"),
        ("9223372036854775807 + 1", "-9223372036854775808"),
        ("9223372036854775808u", "9223372036854775808"),
        ("sum([true, false, true])", "2"),
    ],
)
def test_a_scalar_prints_as_the_specification_says(expression: str, expected: str) -> None:
    assert printed(f"print({expression});") == expected + "\n"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 2, 3]", "DenseMatrix(3x1, int64_t)\n1\n2\n3\n"),
        ("[1, 2.5]", "DenseMatrix(2x1, double)\n1\n2.5\n"),
        ("[true, false]", "DenseMatrix(2x1, bool)\n1\n0\n"),
        ("[1, 2, 3, 4](2, 2)", "DenseMatrix(2x2, int64_t)\n1 2\n3 4\n"),
        ("[1, 2, 3, 4](, 4)", "DenseMatrix(1x4, int64_t)\n1 2 3 4\n"),
        ("[1, 2, 3, 4](4, )", "DenseMatrix(4x1, int64_t)\n1\n2\n3\n4\n"),
        ('["a", "b"]', "DenseMatrix(2x1, std::string)\na\nb\n"),
        ("as.matrix<f32>([1])", "DenseMatrix(1x1, float)\n1\n"),
        ("as.matrix(3)", "DenseMatrix(1x1, int64_t)\n3\n"),
        ('{"a": [1, 2], "b": [0.5, 1.5]}', "Frame(2x2, [a:int64_t, b:double])\n1 0.5\n2 1.5\n"),
        ('{["a", "b"], [1, "x"], [2, "y"]}', "Frame(2x2, [a:int64_t, b:std::string])\n1 x\n2 y\n"),
        ("as.frame([1, 2](1, 2))", "Frame(1x2, [col_0:int64_t, col_1:int64_t])\n1 2\n"),
        (
            "createList([1], [2])",
            "List(2, DenseMatrix, int64_t)\nDenseMatrix(1x1, int64_t)\n1\n"
            "DenseMatrix(1x1, int64_t)\n2\n",
        ),
        ("[1, 2, 3, 4](2, 2)[0, 1]", "DenseMatrix(1x1, int64_t)\n2\n"),
        ("[1, 2, 3][1:, ]", "DenseMatrix(2x1, int64_t)\n2\n3\n"),
        ("[1, 2, 3][:-1, ]", "DenseMatrix(2x1, int64_t)\n1\n2\n"),
        ("[1, 2, 3][-1, 0.9]", "DenseMatrix(1x1, int64_t)\n3\n"),
        ("[1, 2, 3][ [2, 0], ]", "DenseMatrix(2x1, int64_t)\n3\n1\n"),
        ("[1, 2, 3][[ [1, 0, 1], ]]", "DenseMatrix(2x1, int64_t)\n1\n3\n"),
        ("[1, 2, 3, 4](2, 2)[[ , [0, 1]]]", "DenseMatrix(2x1, int64_t)\n2\n4\n"),
        ('{"a": [1, 2], "b": [3, 4]}[, "b"]', "Frame(2x1, [b:int64_t])\n3\n4\n"),
        ("[3, 1] > [2, 2]", "DenseMatrix(2x1, int64_t)\n1\n0\n"),
        ("sum([true, true], 1)", "DenseMatrix(1x1, int64_t)\n2\n"),
        ("cumSum([true, true])", "DenseMatrix(2x1, int64_t)\n1\n2\n"),
        ("[1.5, 2.5] == 1.5", "DenseMatrix(2x1, double)\n1\n0\n"),
        ("2 - [1, 2]", "DenseMatrix(2x1, int64_t)\n1\n0\n"),
        ("[1, 2, 3, 4](2, 2) * [1, 10](1, 2)", "DenseMatrix(2x2, int64_t)\n1 20\n3 40\n"),
        ("[1, 2, 3, 4](2, 2) * [1, 10]", "DenseMatrix(2x2, int64_t)\n1 2\n30 40\n"),
        ("[1, 0] ? [5, 6] : 0.5", "DenseMatrix(2x1, double)\n5\n0.5\n"),
        ('[1, "a", 1.5]', "DenseMatrix(3x1, std::string)\n1\na\n1.500000\n"),
        ("cbind([1], [2.5])", "DenseMatrix(1x2, double)\n1 2.5\n"),
        ("rbind([true], [2u])", "DenseMatrix(2x1, uint64_t)\n1\n2\n"),
        ('cbind(["x"], [2])', "DenseMatrix(1x2, std::string)\nx 2\n"),
        ("seq(5, 1)", "DenseMatrix(0x1, int64_t)\n"),
        ("seq(as.scalar([5]), 1)", "DenseMatrix(0x1, int64_t)\n"),
        ('oneHot(["b", "a", "b"], [3])', "DenseMatrix(3x3, int64_t)\n1 0 0\n0 1 0\n1 0 0\n"),
        ("seq(0, 3)[-1.7, ]", "DenseMatrix(1x1, int64_t)\n3\n"),
        ("seq(0, 3)[-3:-1.3, ]", "DenseMatrix(2x1, int64_t)\n1\n2\n"),
        ("seq(0, 3)[ [-1.7, 1.7], ]", "DenseMatrix(2x1, int64_t)\n3\n1\n"),
        (
            "as.scalar(rand(1, 1, 2.0, 2.0, 1.0, 1)) > 1 ? seq(0, 3)[-1.7 * sum([1.0]), ] : [7]",
            "DenseMatrix(1x1, int64_t)\n3\n",
        ),
        ('oneHot(["1", "0"], [2])', "DenseMatrix(2x2, int64_t)\n1 0\n0 1\n"),
        (
            "[1, 2] +::_ewAdd__DenseMatrix_int64_t__DenseMatrix_int64_t__int64_t 3",
            "DenseMatrix(2x1, int64_t)\n4\n5\n",
        ),
        (
            "sum::_sumRow__DenseMatrix_double__DenseMatrix_double([1.5, 2.5](1, ), 0)",
            "DenseMatrix(1x1, double)\n4\n",
        ),
        (
            "[1.5] @::_matMul__DenseMatrix_double__DenseMatrix_double__DenseMatrix_double [2.0]",
            "DenseMatrix(1x1, double)\n3\n",
        ),
        (
            "sqrt::_ewSqrt__DenseMatrix_double__DenseMatrix_double([4.0])",
            "DenseMatrix(1x1, double)\n2\n",
        ),
        ("[1, 2] +::numpy [1, 2]", "DenseMatrix(2x1, int64_t)\n2\n4\n"),
    ],
)
def test_a_matrix_prints_as_the_specification_says(expression: str, expected: str) -> None:
    assert both(f"print({expression});") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for (i in 1:3) print(i);", "1\n2\n3\n"),
        ("for (i in 3:1) print(i);", "3\n2\n1\n"),
        ("for (i in 0:10:5) print(i);", "0\n5\n10\n"),
        ("for (i in 5:1:-2) { print(i); }", "5\n3\n1\n"),
        ("x = 0; while (x < 3) { x = x + 1; } print(x);", "3\n"),
        ("x = 9; do { x = x + 1; } while (x < 3); print(x);", "10\n"),
        ("x = 1; if (x > 0) { y = 5; x = y; } print(x);", "5\n"),
        ("x = as.scalar([3]); if (x > 2) x = 10; else x = 20; print(x);", "10\n"),
        ("x = [1]; for (i in 1:2) { x = rbind(x, x); } print(nrow(x));", "4\n"),
        (
            "a = [1, 2]; b = a; b[0, 0] = [9]; print(a[0, ] + b[0, ]);",
            "DenseMatrix(1x1, int64_t)\n10\n",
        ),
        (
            "a = fill(0, 3, 3); a[1, ] = fill(5, 1, 3); a[, 2] = [7, 8, 9]; print(a);",
            "DenseMatrix(3x3, int64_t)\n0 0 7\n5 5 8\n0 0 9\n",
        ),
        ("a = fill(0, 2, 2); a[0:1, 1:2] = [4]; print(sum(a));", "4\n"),
        ("def f(x, y) { return x + y; } print(f(1, 2)); print(f(1.5, y=2));", "3\n3.5\n"),
        ("def f(x: f64) -> f64 { return x / 2; } print(f(3));", "1.5\n"),
        (
            "def f(x: matrix) -> matrix<f64>, si64 { return x * 2.0, 7; } "
            "a, b = f([1.5]); print(a); print(b);",
            "DenseMatrix(1x1, double)\n3\n7\n",
        ),
        (
            "def fac(n: si64) -> si64 { if (n < 2) { return 1; } else { return n * fac(n - 1); } } "
            "print(fac(5));",
            "120\n",
        ),
        (
            "def even(n: si64) -> bool { if (n == 0) { return true; } else { return odd(n-1); } } "
            "def odd(n: si64) -> bool { if (n == 0) { return false; } else { return even(n-1); } } "
            "print(even(7));",
            "0\n",
        ),
        (
            "def fib(n) { if (n < 2) { return n; } else { return fib(n-1) + fib(n-2); } } "
            "print(fib(10));",
            "55\n",
        ),
        (
            "def f(n) { if (n < 2) { return 0.5; } else { return f(n - 1) * 2; } } print(f(3));",
            "2\n",
        ),
        (
            "def f(x: matrix, n: si64) -> matrix { if (n == 0) { return x; } else "
            "{ return f(rbind(x, x), n - 1); } } print(nrow(f([1.5], 3)));",
            "8\n",
        ),
        ("def f() { print(1); } f();", "1\n"),
        (
            "def fib(n: si64) -> si64 { if (n <= 0) return 0; if (n <= 2) return 1; "
            "return fib(n - 1) + fib(n - 2); } print(fib(7)); print(fib(as.scalar([10])));",
            "13\n55\n",
        ),
        (
            "def f(n, m) { x = 1; if (n > 0) { x = 2; if (m > 0) { return x; } x = x + 10; } "
            "else { if (m > 5) return 100; x = 50; } x = x * 2; if (x > 30) return x; return -x; } "
            "for (i in 0:1) { for (m in 0:6:6) { print(f(i, m)); } }",
            "100\n100\n-24\n2\n",
        ),
        (
            'def f(n) { if (n > 1) { print("many"); return; } print("few"); } '
            "f(1); f(2); f(as.scalar([3]));",
            "few\nmany\nmany\n",
        ),
        (
            "def sq(x) { return x * x; } print(map([1, 2, 3], sq));",
            "DenseMatrix(3x1, int64_t)\n1\n4\n9\n",
        ),
        ("v, w = eigen([2.0, 0.0, 0.0, 3.0](2, 2)); print(v);", "DenseMatrix(2x1, double)\n2\n3\n"),
        ("# one\n// two\n/* three */ print(4);", "4\n"),
        ('print(1, false); print("b", true);', "1b\n"),
        ("x = 1; { x = 2; y = 3; } print(x);", "2\n"),
        ("x = 1; if (false) { x = 2.5; y = x; } print(x);", "1\n"),
        ("def f(x: si64) { return f(x - 1); } def g(x: f64) { return x; } print(5);", "5\n"),
        ("print(nrow([1, 2]) - 5);", "-3\n"),
        ("x = [2]; while (x > 0) { x = x - 1; if (x) print(7); else print(8); }", "7\n8\n"),
        ("do x = 1; while ([0]); x = 1; if (true) x = 2; print(x);", "2\n"),
        ('f = {"a": [1, 2]}; print(f[, 0:0]);', "Frame(2x0, [])\n\n\n"),
        ('x = {"a": [1, 2]}[, 0:0]; print(nrow(x[[[0, 1], ]]) + nrow(x[1:, ]));', "2\n"),
    ],
)
def test_statements(text: str, expected: str) -> None:
    assert both(text) == expected


def test_arguments_are_literals() -> None:
    text = "print($x + $y); print($s);"
    assert printed(text, "x=-2", "y=0.5", 's="a=b"') == "-1.5\na=b\n"
    assert printed("print($x);", "x=-9223372036854775808") == "-9223372036854775808\n"
    with pytest.raises(ScriptSyntaxError, match="does not fit into si64"):
        printed("print($x);", "x=9223372036854775808")
    for words in (["x"], ["x=1", "x=2"], ["x=1+1"], ["x=y"], ["x=--1"]):
        with pytest.raises(ScriptSyntaxError):
            printed(text, *words)
    with pytest.raises(ScriptSyntaxError, match="the argument \\$y is missing"):
        printed(text, "x=1", 's="a"')


def test_an_argument_that_the_script_does_not_read_is_refused() -> None:
    text = "if (false) { print($size); } print($x);"
    assert printed(text, "x=1", "size=2") == "1\n"
    with pytest.raises(ScriptSyntaxError, match=r"no argument \$siz, only \$size, \$x; did you"):
        printed(text, "x=1", "size=2", "siz=2")
    # One of many that are called alike.
    assert printed("print(1);", "x=1") == "1\n"


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("print(1)", ScriptSyntaxError, "expected ';' at the end of a statement"),
        ("x = sqr(2.0);", ScriptSyntaxError, "did you mean 'sqrt'"),
        ("x = CSR(fill(1.0, 2, 2));", ScriptSyntaxError, "'CSR': --select-matrix-repr"),
        ("parfor (i in 1:3) { print(i); }", ScriptSyntaxError, "no parfor; write for: --vec"),
        ("abc = 1; print(abd);", ScriptSyntaxError, "did you mean 'abc'"),
        ("x = !1;", ScriptSyntaxError, "there is no '!'"),
        ("x = 9223372036854775808;", ScriptSyntaxError, "9223372036854775808 does not"),
        ("x = 1 - 9223372036854775808;", ScriptSyntaxError, "does not fit into si64"),
        ("x = -(9223372036854775808l);", ScriptSyntaxError, "does not fit into si64"),
        ("x = -9223372036854775809;", ScriptSyntaxError, "does not fit into si64"),
        ("x = sum::fast([1]);", ScriptSyntaxError, "no kernel 'fast'"),
        (
            "x = sum::_ewAdd__double__double__double([1.5]);",
            ScriptCompileError,
            "is not for sum: that has sumAll, sumRow, sumCol, sumGrp",
        ),
        (
            "x = sum::_sumAll__double__DenseMatrix_double([1]);",
            ScriptCompileError,
            "takes a DenseMatrix_double, not a matrix<si64> 1x1",
        ),
        (
            "x = sum::CUDA_sumAll__double__DenseMatrix_double([1.5]);",
            ScriptCompileError,
            "is for CUDA, which is not there",
        ),
        ("def f(x) { return x; } y = f::numpy(1);", ScriptSyntaxError, "has no kernels"),
        ('x = "a;', ScriptSyntaxError, "has no end"),
        ("x = [];", ScriptSyntaxError, "no values"),
        ("for (i in 1:2) { i = 3; }", ScriptSyntaxError, "can only be read"),
        ("{ y = 1; } print(y);", ScriptSyntaxError, "no variable 'y'"),
        ("def f(x) { return x; } f(1, 2);", ScriptSyntaxError, "takes 1 arguments"),
        (
            "def f(x) { if (x > 1) { return 1; } } print(f(as.scalar([1])));",
            ScriptSyntaxError,
            "ends without a return",
        ),
        ("if (1) { def f() { } }", ScriptSyntaxError, "top level"),
        ("if (false) { x = y; }", ScriptSyntaxError, "no variable 'y'"),
        ("x = true ? 1 : y;", ScriptSyntaxError, "no variable 'y'"),
        ("def f(x: f64) { return x + y; }", ScriptSyntaxError, "no variable 'y'"),
        ("def f(x: matrix<f64>) { return sum(x) @ x; }", ScriptCompileError, "matrix"),
        (
            "def f(n) { if (n < 2) { return 1; } print(n); }",
            ScriptSyntaxError,
            "ends without a return",
        ),
        (
            "def f(n) { " + "if (n > 1) { if (n > 2) return 1; } " * 20 + "return n; }",
            ScriptSyntaxError,
            "more than 200 ways",
        ),
        ("def f(n) { return 1; n = 2; }", ScriptSyntaxError, "never reached"),
        ("def f(n) { for (i in 1:n) { return i; } }", ScriptSyntaxError, "a loop can't return"),
        (
            'def f(l) { return {"a": [1]}[, l]; } l = "a"; for (i in 1:2) { l = "b"; } f(l);',
            ScriptCompileError,
            "a label has to be known",
        ),
        ("for (i in 1:inf) { print(i); }", ScriptCompileError, "have to be numbers"),
        ("x = seq(inf, 1, -1);", ScriptCompileError, "has no end"),
        (
            'f = {"a": [1], "b": [2]}; print(f[, [0.0, nan]]);',
            ScriptRunError,
            "column nan is outside",
        ),
        ("print([1, 2][nan, 0]);", ScriptCompileError, "a position has to be a number, not nan"),
        ("print([1, 2][0:inf, 0]);", ScriptCompileError, "a position has to be a number, not inf"),
        ("print(sum(1));", ScriptCompileError, "has to be a matrix"),
        ("print([1, 2] + [1, 2, 3]);", ScriptCompileError, "2x1 and a 3x1"),
        ("print([1, 2] @ [1, 2]);", ScriptCompileError, "as many columns"),
        ('print("a" * 2);', ScriptCompileError, "no mul of strings"),
        ("print([1, 2][5, 0]);", ScriptCompileError, "position 5 is outside of 0 to 1"),
        ("x = 1; for (i in 1:2) { x = x + 0.5; }", ScriptCompileError, "'x' is a"),
        ("a, b = [1];", ScriptSyntaxError, "1 results"),
        ('def f(x: f64) { return x; } f("a");', ScriptSyntaxError, "argument 'x'"),
        ("if (true) x = 3; print(x);", ScriptSyntaxError, "no variable 'x'"),
        ("i = 0; while (i < 3) x = 3; print(x);", ScriptSyntaxError, "no variable 'x'"),
        ("if ([1, 2]) print(1);", ScriptCompileError, "only a 1x1 matrix"),
        ("print(1e03);", ScriptSyntaxError, "found '3'"),
        ("print(1 / 0);", ScriptRunError, "divided by zero"),
        ("print([1, 2] % [1, 0]);", ScriptRunError, "divided by zero"),
        ("i = as.scalar([5]); print([1, 2][i, 0]);", ScriptRunError, "row 5 is outside"),
        ("def f(n: si64) -> si64 { return f(n + 1); } print(f(1));", ScriptRunError, "deep"),
        ('stop("enough");', ScriptStoppedError, "system stopped: enough"),
        ('print(readMatrix("nowhere.csv"));', ScriptRunError, "there is no file"),
        ("x = [1](2, 2);", ScriptCompileError, "do not fill"),
        ("print(01.0);", ScriptSyntaxError, "expected ')'"),
        ("print(1_.0);", ScriptSyntaxError, "expected ')'"),
        ("x = " + "(" * 500 + "1" + ")" * 500 + ";", ScriptSyntaxError, "nested more than"),
    ],
)
def test_an_error_has_its_kind_and_its_place(
    text: str, kind: type[ScriptError], problem: str
) -> None:
    for vec in (False, True):
        with pytest.raises(ScriptError) as found:
            printed("\n" + text, vec=vec)
        assert type(found.value) is kind
        assert problem in str(found.value)
        assert found.value.line == 2
        assert str(found.value).splitlines()[-1].strip() == "^"


def test_nothing_is_printed_before_a_script_is_checked() -> None:
    out = io.StringIO()
    with pytest.raises(ScriptCompileError):
        run_text("print(1); print([1] @ [1, 2](1, 2) @ [1, 2, 3]);", out=out)
    assert out.getvalue() == ""


def test_scripts_import_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.daphne").write_text("x = 5; def twice(n) { return n * 2; }")
    (tmp_path / "b.daphne").write_text('import "a.daphne"; y = a.twice(a.x);')
    monkeypatch.chdir(tmp_path)
    text = 'import "b.daphne"; import "a.daphne" as "c"; print(b.y); print(c.twice(c.x + 1));'
    assert printed(text) == "10\n12\n"
    with pytest.raises(ScriptSyntaxError, match="can only be read"):
        printed('import "a.daphne"; a.x = 2;')
    with pytest.raises(ScriptSyntaxError, match=r"no variable 'b.a.x'"):
        printed('import "b.daphne"; print(b.a.x);')
    with pytest.raises(ScriptSyntaxError, match="there is no script"):
        printed('import "d.daphne";')
    with pytest.raises(ScriptSyntaxError, match=r"a.daphne is imported twice"):
        printed('import "a.daphne"; import "a.daphne" as "b";')
    with pytest.raises(ScriptSyntaxError, match="the alias 'c' is there twice"):
        printed('import "a.daphne" as "c"; import "b.daphne" as "c";')


def test_a_script_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "marked.daphne"
    path.write_text("\ufeffprint(1);", encoding="utf-8")
    source = read_source(path)
    assert source.text == "print(1);"
    assert str(source.place(0)).endswith("marked.daphne:1:1")
