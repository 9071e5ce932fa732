"""Every built-in function in a script of its own."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from freestone.errors.lang import ScriptCompileError, ScriptRunError, ScriptStoppedError
from freestone.lang.front.builtins import BUILTINS
from tests.lang.scripts import both, printed


def dense(cell: str, *rows: str) -> str:
    """Return what a matrix prints."""
    return f"DenseMatrix({len(rows)}x{len(rows[0].split())}, {cell})\n" + "".join(
        row + "\n" for row in rows
    )


I64, F64, U64 = "int64_t", "double", "uint64_t"
M = "[1, 2, 3, 4](2, 2)"
F = '{"a": [1, 2, 2], "b": [0.5, 1.5, 2.5]}'
G = '{"c": [2, 3], "d": [10, 20]}'

CASES: list[tuple[str, str, str]] = [
    ("fill", "fill(1.5, 1, 2)", dense(F64, "1.5 1.5")),
    (
        "createFrame",
        'createFrame([1, 2], [3, 4], "x", "y")',
        "Frame(2x2, [x:int64_t, y:int64_t])\n1 3\n2 4\n",
    ),
    ("diagMatrix", "diagMatrix([1, 2])", dense(I64, "1 0", "0 2")),
    ("seq", "seq(1, 5, 2)", dense(I64, "1", "3", "5")),
    ("seq", "seq(1.0, 0.5, -0.25)", dense(F64, "1", "0.75", "0.5")),
    ("sample", "nrow(sample(10, 4, false, 1))", "4\n"),
    ("rand", "rand(1, 2, 1.0, 1.0, 1.0, 3)", dense(F64, "1 1")),
    ("typeOf", "typeOf(1)", "int64_t\n"),
    ("nrow", f"nrow({M})", "2\n"),
    ("ncol", f"ncol({M})", "2\n"),
    ("ncell", f"ncell({M})", "4\n"),
    ("sparsity", "sparsity([0, 1, 1, 1])", "0.75\n"),
    ("isSymmetric", "isSymmetric([1, 2, 2, 1](2, 2))", "1\n"),
    ("minus", "minus([1, -2])", dense(I64, "-1", "2")),
    ("abs", "abs([1, -2])", dense(I64, "1", "2")),
    ("sign", "sign([-0.5, 0.0, 3.0])", dense(F64, "-1", "0", "1")),
    ("exp", "exp([0, 1])", dense(F64, "1", "2.71828")),
    ("ln", "ln([1.0, 0.0, -1.0])", dense(F64, "0", "-inf", "-nan")),
    ("sqrt", "sqrt([4, 2])", dense(F64, "2", "1.41421")),
    ("round", "round([0.5, -2.5, 1.4])", dense(F64, "1", "-3", "1")),
    (
        "round",
        "round([0.49999999999999994, 4503599627370497.0, 0.5]) == [0.0, 4503599627370497.0, 1.0]",
        dense(F64, "1", "1", "1"),
    ),
    (
        "round",
        "round(0.49999999999999994) + round(-4503599627370497.0) == -4503599627370497.0",
        "1\n",
    ),
    ("floor", "floor([-0.5])", dense(F64, "-1")),
    ("ceil", "ceil([0.5])", dense(F64, "1")),
    ("sin", "sin([1.0])", dense(F64, "0.841471")),
    ("cos", "cos([1.0])", dense(F64, "0.540302")),
    ("tan", "tan([1.0])", dense(F64, "1.55741")),
    ("sinh", "sinh([1.0])", dense(F64, "1.1752")),
    ("cosh", "cosh([1.0])", dense(F64, "1.54308")),
    ("tanh", "tanh([1.0])", dense(F64, "0.761594")),
    ("asin", "asin([1.0])", dense(F64, "1.5708")),
    ("acos", "acos([0.5])", dense(F64, "1.0472")),
    ("atan", "atan([1.0])", dense(F64, "0.785398")),
    ("isNan", "isNan([nan, 1.0])", dense(F64, "1", "0")),
    ("lower", 'lower(["Ab"])', dense("std::string", "ab")),
    ("upper", 'upper("Ab")', "AB\n"),
    ("mod", "mod([7, -7], 4)", dense(I64, "3", "-3")),
    ("pow", "pow([2, 3], 2)", dense(I64, "4", "9")),
    ("log", "log([8.0], 2.0)", dense(F64, "3")),
    ("min", "min([1, 5], 3)", dense(I64, "1", "3")),
    ("max", "max([1, 5], 3)", dense(I64, "3", "5")),
    ("concat", 'concat(["a", "b"], "c")', dense("std::string", "ac", "bc")),
    ("sum", f"sum({M})", "10\n"),
    ("sum", f"sum({M}, 0)", dense(I64, "3", "7")),
    ("sum", f"sum({M}, 1)", dense(I64, "4 6")),
    ("sum", "sum([1, 2, 3], [0, 1, 0], 2)", dense(I64, "4", "2")),
    ("aggMin", f"aggMin({M}, 0)", dense(I64, "1", "3")),
    ("aggMax", f"aggMax({M})", "4\n"),
    ("mean", f"mean({M})", "2.5\n"),
    ("var", "var([1.0, 3.0])", "1\n"),
    ("stddev", "stddev([1.0, 3.0, 1.0, 3.0](2, 2), 1)", dense(F64, "0 0")),
    ("count", "count([5, 6, 7], [0, 1, 0], 3)", dense(I64, "2", "1", "0")),
    ("idxMin", "idxMin([3, 1, 2](1, 3), 0)", dense(U64, "1")),
    ("idxMax", f"idxMax({M}, 1)", dense(U64, "1 1")),
    ("cumSum", f"cumSum({M})", dense(I64, "1 2", "4 6")),
    ("cumProd", f"cumProd({M})", dense(I64, "1 2", "3 8")),
    ("cumMin", "cumMin([2, 1, 3])", dense(I64, "2", "1", "1")),
    ("cumMax", "cumMax([2, 1, 3])", dense(I64, "2", "2", "3")),
    ("reshape", f"reshape({M}, 1, 4)", dense(I64, "1 2 3 4")),
    ("transpose", f"transpose({M})", dense(I64, "1 3", "2 4")),
    ("t", f"t(t({M}))", dense(I64, "1 2", "3 4")),
    ("cbind", "cbind([1, 2], [3, 4])", dense(I64, "1 3", "2 4")),
    ("rbind", "rbind([1, 2](1, 2), [3, 4](1, 2))", dense(I64, "1 2", "3 4")),
    ("reverse", "reverse([1, 2])", dense(I64, "2", "1")),
    ("order", "order([3, 1, 2], 0, true, false)", dense(I64, "1", "2", "3")),
    (
        "order",
        "order([1, 5, 1, 4, 2, 0](3, 2), 0, 1, false, true, true)",
        dense(U64, "2", "1", "0"),
    ),
    ("solve", "solve([2.0, 0.0, 0.0, 4.0](2, 2), [2.0, 4.0])", dense(F64, "1", "1")),
    ("syrk", f"syrk({M})", dense(I64, "10 14", "14 20")),
    ("gemv", f"gemv({M}, [1, 1])", dense(I64, "4", "6")),
    ("diagVector", f"diagVector({M})", dense(I64, "1", "4")),
    ("lowerTri", f"lowerTri({M}, false, true)", dense(I64, "0 0", "3 0")),
    ("upperTri", f"upperTri({M}, true, false)", dense(I64, "1 1", "0 1")),
    ("replace", "replace([1.0, nan], nan, 0.0)", dense(F64, "1", "0")),
    ("ctable", "ctable([0, 1, 1], [2, 0, 0])", dense(F64, "0 0 1", "2 0 0")),
    ("ctable", "ctable([0, 1, 1], [2, 0, 0], 3, 1, 2)", dense(I64, "0 0")),
    ("biasAdd", "biasAdd([1, 2, 3, 4](1, 4), [10, 20](1, 2))", dense(I64, "11 12 23 24")),
    ("relu", "relu([-1.5, 2.0])", dense(F64, "0", "2")),
    ("softmax", "softmax([0.0, 0.0](1, 2))", dense(F64, "0.5 0.5")),
    (
        "batch_norm2d",
        "batch_norm2d([1.0, 3.0](1, 2), [2.0], [1.0], [2.0], [4.0], 0.0)",
        dense(F64, "0 2"),
    ),
    (
        "cartesian",
        f"cartesian({F}, {G})[0:2, ]",
        "Frame(2x4, [a:int64_t, b:double, c:int64_t, d:int64_t])\n1 0.5 2 10\n1 0.5 3 20\n",
    ),
    (
        "innerJoin",
        f'innerJoin({F}, {G}, "a", "c")',
        "Frame(2x4, [a:int64_t, b:double, c:int64_t, d:int64_t])\n2 1.5 2 10\n2 2.5 2 10\n",
    ),
    (
        "groupSum",
        f'groupSum({F}, "a", "b")',
        "Frame(2x2, [a:int64_t, SUM(b):double])\n1 0.5\n2 4\n",
    ),
    (
        "setColLabels",
        f'setColLabels({G}, "x", "y")',
        "Frame(2x2, [x:int64_t, y:int64_t])\n2 10\n3 20\n",
    ),
    (
        "setColLabelsPrefix",
        f'setColLabelsPrefix({G}, "g")',
        "Frame(2x2, [g.c:int64_t, g.d:int64_t])\n2 10\n3 20\n",
    ),
    (
        "intersect",
        '{"a": [1, 2, 2]}'.join(["intersect(", ', {"b": [2, 3]})']),
        "Frame(1x1, [a:int64_t])\n2\n",
    ),
    ("merge", 'merge({"a": [1, 2]}, {"b": [2, 3]})', "Frame(3x1, [a:int64_t])\n1\n2\n3\n"),
    ("except", 'except({"a": [1, 2]}, {"b": [2, 3]})', "Frame(1x1, [a:int64_t])\n1\n"),
    ("oneHot", "oneHot([0, 7, 1, 8](2, 2), [2, -1](1, 2))", dense(I64, "1 0 7", "0 1 8")),
    ("bin", "bin([10, 20, 30, 40, 50, 60, 70], 3)", dense(I64, *"0001122")),
    (
        "bin",
        "bin([5.0, 20.0, nan, 40.0, inf, 60.0, 100.0], 3, 10.0, 70.0)",
        dense(F64, "0", "0", "nan", "1", "2", "2", "2"),
    ),
    ("createList", "length(createList([1], [2]))", "2\n"),
    ("length", "length(createList([1]))", "1\n"),
    ("append", "length(append(createList([1]), [2]))", "2\n"),
    ("now", "now() > 1700000000000000000", "1\n"),
    ("quantize", "quantize([0.0f, 0.5f, 1.0f], 0.0f, 1.0f)", dense("uint8_t", "0", "128", "255")),
]


@pytest.mark.parametrize(("name", "expression", "expected"), CASES)
def test_an_expression(name: str, expression: str, expected: str) -> None:
    assert both(f"print({expression});") == expected


OUTER = {
    "Add": "11 21", "Sub": "-9 -19", "Mul": "10 20", "Div": "0 0", "Pow": "1 1", "Mod": "1 1",
    "Min": "1 1", "Max": "10 20", "And": "1 1", "Or": "1 1", "Eq": "0 0", "Neq": "1 1",
    "Lt": "1 1", "Le": "1 1", "Gt": "0 0", "Ge": "0 0",
}  # fmt: skip


@pytest.mark.parametrize(("name", "row"), OUTER.items())
def test_outer_operations(name: str, row: str) -> None:
    assert both(f"print(outer{name}([1], [10, 20](1, 2)));") == dense(I64, row)


def test_outer_operations_that_are_special() -> None:
    assert both("print(outerLog([8.0], [2.0](1, 1)));") == dense(F64, "3")
    assert both('print(outerConcat(["a"], ["b"](1, 1)));') == dense("std::string", "ab")
    with pytest.raises(ScriptCompileError):
        printed("print(outerXor([1], [1](1, 1)));")


@pytest.mark.parametrize("name", ["leftOuterJoin", "fullOuterJoin", "antiJoin"])
def test_words_without_a_meaning_are_refused(name: str) -> None:
    with pytest.raises(ScriptCompileError, match="does nothing yet"):
        printed(f"print({name}({F}, {G}));")


def test_functions_with_several_results() -> None:
    assert printed("c, d = recode([10, 5, 20, 5], false); print(c); print(d[c, ]);") == dense(
        I64, "0", "1", "2", "1"
    ) + dense(I64, "10", "5", "20", "5")
    assert printed("c, d = recode([10, 5], true); print(d);") == dense(I64, "5", "10")
    assert printed("l, m = remove(createList([1], [2]), 0); print(m); print(length(l));") == (
        dense(I64, "1") + "1\n"
    )
    assert printed("l = createList([1], [2, 3]); print(getElementInList(l, 1));") == (
        dense(I64, "2", "3")
    )
    text = (
        "l = createList([1], [2, 3]); m, e = replaceElementInList(l, 1, [4]); print(l); print(m);"
    )
    assert printed(f"{text} print(e);") == (
        f"List(2, DenseMatrix, int64_t)\n{dense(I64, '1')}{dense(I64, '2', '3')}"
        f"List(2, DenseMatrix, int64_t)\n{dense(I64, '1')}{dense(I64, '4')}{dense(I64, '2', '3')}"
    )
    text = 'print(typeOf({"a": [1], "b": ["x"]}));'
    assert printed(text) == "Frame(1x2, int64_t, std::string)\n"
    assert printed("v, w = eigen([2.0, 1.0, 1.0, 2.0](2, 2)); print(v);") == dense(F64, "1", "3")
    joined = f'f, p = semiJoin({F}, {G}, "a", "c"); print(f); print(p);'
    assert printed(joined) == "Frame(2x1, [a:int64_t])\n2\n2\n" + dense(I64, "1", "2")
    joined = f'f, p = groupJoin({G}, {F}, "c", "a", "b"); print(f); print(p);'
    assert printed(joined) == "Frame(1x2, [c:int64_t, b:double])\n2 4\n" + dense(I64, "0")


def test_layers_of_networks() -> None:
    image = "seq(1.0, 9.0, 1.0)"
    call = f"t({image}), {{}}1, 1, 3, 3, 2, 2, 1, 1, 0, 0"
    conv = f"o, h, w = conv2d({call.format('fill(1.0, 1, 4), ')}); print(o); print(h + w);"
    assert printed(conv) == dense(F64, "12 16 24 28") + "4\n"
    for name, row in (("max", "5 6 8 9"), ("avg", "3 4 6 7")):
        text = f"o, h, w = {name}_pool2d({call.format('')}); print(o);"
        assert printed(text) == dense(F64, row)
        text = f"print(sum({name}_pool2d_backward({call.format('fill(1.0, 1, 4), ')})));"
        assert printed(text) == "4\n"
    rest = "1, 1, 0, 0, 1, 1, 3, 3, 1, 1, 2, 2"
    ones = "fill(1.0, 1, 4)"
    text = f"print(conv2d_backward_filter(t({image}), {ones}, {rest}));"
    assert printed(text) == dense(F64, "12 16 24 28")
    text = f"print(conv2d_backward_data({ones}, {ones}, {rest}));"
    assert printed(text) == dense(F64, "1 2 1 2 4 2 1 2 1")
    text = (
        "x, g, b = batch_norm2d_backward([1.0, 3.0](1, 2), [1.0, 1.0](1, 2), [1.0], [2.0], [1.0], "
        "0.0); print(x); print(g); print(b);"
    )
    assert printed(text) == dense(F64, "0 0") + dense(F64, "0") + dense(F64, "2")
    assert both(f"print(affine({M}, [1, 1], [10](1, 1)));") == dense(I64, "13", "17")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.csv", "m.dbdf"):
        printed(f'write([0.1234567, 1e-9](1, 2), "{name}");')
        text = f'm = readMatrix("{name}"); print(m * 1e9); print(typeOf(m));'
        assert printed(text).startswith(dense(F64, "1.23457e+08 1"))
    printed(f'writeFrame({{"a": [1], "b": ["x,\\"y"]}}, "f.csv"); writeMatrix({M}, "i.csv");')
    assert (
        printed('print(readFrame("f.csv"));') == 'Frame(1x2, [a:int64_t, b:std::string])\n1 x,"y\n'
    )
    assert printed('print(readMatrix("i.csv"));') == dense(I64, "1 2", "3 4")
    text = 'f = openFile("i.csv"); print(readCsv(f, 2, 2, ",")); close(f);'
    assert printed(text) == dense(F64, "1 2", "3 4")
    Path("s.mtx").write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 5\n2 1 7\n"
    )
    assert printed('print(readMatrix("s.mtx"));') == dense(F64, "5 7", "7 0")
    Path("i.csv").write_text("1,2\n")
    with pytest.raises(ScriptRunError):
        printed('print(readMatrix("i.csv"));')
    Path("i.csv.meta").write_text("{")
    with pytest.raises(ScriptRunError, match="no JSON with numRows"):
        printed('print(readMatrix("i.csv"));')
    with pytest.raises(ScriptRunError, match="what"):
        printed('write([1], "x.what");')


def test_a_meta_that_disagrees_with_the_file_is_refused(tmp_path: Path) -> None:
    import numpy as np

    import freestone as fs

    for format in ("dbdf", "npy", "mtx", "parquet"):
        path = tmp_path / f"m.{format}"
        fs.write(np.array([[1.5, 2.5]]), path)
        beside, text = tmp_path / f"m.{format}.meta", f'print(readMatrix("{path}"));'
        beside.write_text('{"numRows": 2, "numCols": 2, "valueType": "f64"}')
        with pytest.raises(ScriptRunError, match=r"is 1 x 2, and its \.meta says 2 x 2"):
            printed(text)
        beside.write_text('{"numRows": 1, "numCols": 2, "valueType": "f32"}')
        assert printed(text) == "DenseMatrix(1x2, float)\n1.5 2.5\n"
    beside = tmp_path / "m.dbdf.meta"
    beside.write_text('{"numRows": 1, "numCols": 2, "valueType": "si64"}')
    with pytest.raises(ScriptRunError, match=r"cells of float64, and its \.meta says si64"):
        printed(f'print(readMatrix("{tmp_path}/m.dbdf"));')


def test_sql() -> None:
    pytest.importorskip("duckdb")
    text = (
        f'registerView("f", {F}); print(sql("SELECT f.a, SUM(f.b) AS s FROM f GROUP BY f.a '
        'ORDER BY f.a"));'
    )
    assert printed(text) == "Frame(2x2, [f.a:int64_t, s:double])\n1 0.5\n2 4\n"
    with pytest.raises(ScriptCompileError, match="SQL"):
        printed('print(sql("SELECT x FROM nowhere"));')
    with pytest.raises(ScriptCompileError, match="SELECT"):
        printed('print(sql("DROP TABLE f"));')


def test_random_numbers_are_those_of_the_twister() -> None:
    import numpy as np

    words = np.random.RandomState(7)
    raw = words.randint(0, 2**32, 12, dtype=np.uint32).astype(float)
    shares = (raw[::2] + raw[1::2] * 2**32) / 2**64
    expected = dense(F64, *(f"{2 * share - 1:g}" for share in shares))
    assert printed("print(rand(6, 1, -1.0, 1.0, 1.0, 7));") == expected
    assert printed("print(sum(rand(50, 2, 1, 9, 0.3, 1) != 0));") == "30\n"
    assert printed("print(sum(sample(50, 50, false, 3)));") == "1225\n"
    for wrong in ("rand(2, 2, 1.0, 0.0, 1.0, 1)", "sample(3, 4, false, 1)"):
        with pytest.raises(ScriptRunError):
            printed(f"print({wrong});")


def test_a_device_is_a_folder_where_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1;2\n3;4\n")
    text = (
        'f = openFileOnTarget(openDevice($folder), "x.csv"); print(readCsv(f, 2, 2, ";")); '
        "close(f);"
    )
    assert printed(text, f'folder="{tmp_path}"') == dense(F64, "1 2", "3 4")
    with pytest.raises(ScriptRunError, match="there is no device"):
        printed(text, f'folder="{tmp_path}/none"')
    with pytest.raises(ScriptRunError, match=r"there is no file .*y\.csv"):
        printed('f = openFileOnTarget(openDevice($folder), "y.csv");', f'folder="{tmp_path}"')


def test_arrays_are_received_only_where_they_are_shared() -> None:
    with pytest.raises(ScriptRunError, match="no array is lent at address 4096"):
        printed("print(receiveFromNumpy(4096, 1, 1, 7));")
    with pytest.raises(ScriptCompileError, match="vtc 9 is no value type; there are 0 si8"):
        printed("print(receiveFromNumpy(4096, 1, 1, 9));")
    # Without a program that takes it, nothing is seen of a result.
    assert both("saveDaphneLibResult([1, 2]); print(1);") == "1\n"


def test_printing_takes_a_line_end_and_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed('print(1, false); print("a"); print(2.5, true, true);') == "1a\n"
    assert capsys.readouterr().err == "2.5\n"


def test_map_calls_a_function_for_each_cell() -> None:
    text = "def f(x: si64) -> si64 { if (x > 1) { return x * x; } else { return 0; } } "
    assert both(text + "print(map([1, 2, 3], f));") == dense(I64, "0", "4", "9")


def test_a_script_can_stop() -> None:
    with pytest.raises(ScriptStoppedError, match="system stopped"):
        printed("stop();")


def test_regions_are_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'startProfiling(); startProfiling(); stopProfiling("in"); stopProfiling("out");'
    assert both(text) == ""
    regions = [json.loads(line)["region"] for line in capsys.readouterr().err.splitlines()]
    assert regions == ["in", "out", "in", "out"]
    with pytest.raises(ScriptRunError, match="without startProfiling"):
        printed('stopProfiling("x");')


def test_joins_of_whole_numbers_near_and_far_give_the_same() -> None:
    import numpy as np
    import pandas as pd

    from freestone.lang.daphnelib import DaphneContext

    context, rng = DaphneContext(), np.random.default_rng(5)
    for step in (1, 10**9):
        left = pd.DataFrame({"a": rng.integers(-9, 9, 50) * step, "b": np.arange(50.0)})
        right = pd.DataFrame({"c": rng.integers(-9, 9, 40) * step, "d": np.arange(40.0)})
        joined = context.from_pandas(left).innerJoin(context.from_pandas(right), "a", "c")
        expected = left.merge(right, left_on="a", right_on="c").sort_values(["b", "d"])
        found = joined.compute().sort_values(["b", "d"])
        assert found.to_numpy().tolist() == expected.to_numpy().tolist()
        sums = context.from_pandas(left).groupSum("a", "b").compute()
        wanted = left.groupby("a")["b"].sum()
        assert sums.iloc[:, 0].tolist() == wanted.index.tolist()
        assert sums.iloc[:, 1].tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8"])
@pytest.mark.parametrize("unique", [True, False], ids=["one partner", "several"])
def test_joins_of_whole_numbers_of_any_width(dtype: str, unique: bool) -> None:
    import numpy as np
    import pandas as pd

    from freestone.lang.daphnelib import DaphneContext

    context, rng = DaphneContext(), np.random.default_rng(5)
    low, high = (0, 255) if dtype[0] == "u" else (-128, 127)
    keys = rng.permutation(np.arange(low, high + 1).astype(dtype))
    left = pd.DataFrame({"a": np.concatenate([keys[9:], keys[:50]]), "b": np.arange(297.0)})
    others = keys[3:] if unique else np.concatenate([keys[3:], keys[:99]])
    right = pd.DataFrame({"c": others, "d": np.arange(float(len(others)))})
    found = context.from_pandas(left).innerJoin(context.from_pandas(right), "a", "c").compute()
    pairs = left.merge(right, left_on="a", right_on="c").sort_values(["b", "d"])
    assert found.sort_values(["b", "d"]).to_numpy().tolist() == pairs.to_numpy().tolist()
    sums = context.from_pandas(left).groupSum("a", "b").compute()
    wanted = left.groupby("a")["b"].sum()
    assert sums["a"].tolist() == wanted.index.tolist()
    assert sums.iloc[:, 1].tolist() == wanted.tolist()


ELSEWHERE: dict[str, Callable[..., None]] = {
    **dict.fromkeys(
        ("outerLog", "outerConcat", "outerXor"), test_outer_operations_that_are_special
    ),
    **dict.fromkeys(
        ("leftOuterJoin", "fullOuterJoin", "antiJoin"), test_words_without_a_meaning_are_refused
    ),
    **dict.fromkeys(
        (
            "recode",
            "remove",
            "getElementInList",
            "replaceElementInList",
            "eigen",
            "semiJoin",
            "groupJoin",
        ),
        test_functions_with_several_results,
    ),
    **dict.fromkeys(
        (
            *("affine", "conv2d", "conv2d_backward_filter", "conv2d_backward_data"),
            *("avg_pool2d", "max_pool2d", "avg_pool2d_backward", "max_pool2d_backward"),
            "batch_norm2d_backward",
        ),
        test_layers_of_networks,
    ),
    **dict.fromkeys(
        (
            *("readMatrix", "readFrame", "write", "writeMatrix", "writeFrame"),
            *("readCsv", "openFile", "close"),
        ),
        test_files,
    ),
    **dict.fromkeys(
        ("openDevice", "openFileOnTarget"), test_a_device_is_a_folder_where_files_are_opened
    ),
    **dict.fromkeys(
        ("receiveFromNumpy", "saveDaphneLibResult"),
        test_arrays_are_received_only_where_they_are_shared,
    ),
    **dict.fromkeys(("sql", "registerView"), test_sql),
    **dict.fromkeys(("startProfiling", "stopProfiling"), test_regions_are_on_standard_error),
    "print": test_printing_takes_a_line_end_and_a_stream,
    "map": test_map_calls_a_function_for_each_cell,
    "stop": test_a_script_can_stop,
}
"""The tests of functions that one expression can't show."""
TEMPLATES = {"leftOuterJoin", "fullOuterJoin", "antiJoin"}
TEMPLATES |= {f"{name}_pool2d{end}" for name in ("avg", "max") for end in ("", "_backward")}
"""Those that a test's parameters, or a part of its text, name."""


def test_every_function_has_a_script_of_its_own() -> None:
    shown = {name for name, expression, _ in CASES if f"{name}(" in expression}
    shown |= {f"outer{name}" for name in OUTER}
    for name, test in ELSEWHERE.items():
        assert name in TEMPLATES or f"{name}(" in inspect.getsource(test)
    assert sorted({*BUILTINS, "map"} - shown - set(ELSEWHERE)) == []


def test_texts_of_a_csv_file_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,name,code\n00123,Bob,1e5\n7,Eve,0x10\n")
    wanted = "DenseMatrix(2x3, std::string)\n00123 Bob 1e5\n7 Eve 0x10\n"
    assert printed(f'print(readMatrix("{path}"));') == wanted


@pytest.mark.parametrize("join", ["innerJoin", "semiJoin"])
def test_texts_and_numbers_are_not_joined(join: str) -> None:
    frames = 'createFrame([1, 2], "a"), createFrame(["1", "2"], "b"), "a", "b"'
    first = "x, y" if join == "semiJoin" else "x"
    with pytest.raises(ScriptRunError, match=r"'a' of si64 and 'b' of str.*convert one of them"):
        printed(f"{first} = {join}({frames}); print(x);")
