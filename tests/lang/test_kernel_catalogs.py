"""Kernels of shared libraries by DAPHNE's catalogs, in every mode, and kernels in Python."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse
from numba import types

from freestone import Cluster
from freestone.cli import main
from freestone.cli.config import INCLUDE
from freestone.errors import ConfigurationError
from freestone.errors.lang import ScriptCompileError, ScriptRunError, ScriptSyntaxError
from freestone.lang import kernel
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.run.extensions import calling, libraries
from freestone.lang.settings import Settings
from tests.lang.catalogs import entries, write_catalog
from tests.lang.scripts import outcome, outcome_on, printed, printed_on

SOURCES = Path(__file__).parent / "kernels"
DOUBLES, CSR = "DenseMatrix<double>", "CSRMatrix<double>"
CPP = {
    "sumOfFloats": ("sumAll", ["float"], ["DenseMatrix<float>"]),
    "sumOfFew": ("sumAll", ["float"], ["DenseMatrix<float>"]),
    "sumOfIntegers": ("sumAll", ["int64_t"], ["DenseMatrix<int64_t>"]),
    "addHalf": ("ewAdd", [DOUBLES], [DOUBLES, DOUBLES]),
    "scaled": ("ewMul", [DOUBLES], [DOUBLES, "double"]),
    "firstRows": ("ewAbs", [DOUBLES], [DOUBLES]),
    "storedSum": ("sumAll", ["double"], [CSR]),
    "doubled": ("ewAbs", [CSR], [CSR]),
    "pairs": ("cartesian", ["Frame"], ["Frame", "Frame"]),
    "numbered": ("cartesian", ["Frame"], ["Frame", "Frame"]),
    "chosen": ("cartesian", ["Frame"], ["Frame", "Frame"]),
    "tooFar": ("cartesian", ["Frame"], ["Frame", "Frame"]),
    "beyond": ("ewAdd", [DOUBLES], [DOUBLES, DOUBLES]),
    "changing": ("ewAdd", [DOUBLES], [DOUBLES, DOUBLES]),
    "manyParameters": (
        "randMatrix",
        [DOUBLES],
        ["size_t", "size_t", "double", "double", "double", "int64_t"],
    ),
    "missing": ("sumAll", ["double"], [DOUBLES]),
}
TEXTS = "DenseMatrix<std::string>"
C = {
    "lengths": ("ewEq", ["DenseMatrix<int64_t>"], [TEXTS, TEXTS]),
    "halved": ("ewAbs", [DOUBLES], [DOUBLES]),
    "nothing": ("ewAbs", [DOUBLES], [DOUBLES]),
}


def cflags(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["config", "--cflags"]) == 0
    return capsys.readouterr().out.split()


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The catalog of both extensions, compiled as the manual says."""
    folder = tmp_path_factory.mktemp("extension")
    flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", f"-I{INCLUDE}"]
    cpp, c = folder / "libExtension.so", folder / "libPlain.so"
    subprocess.run(["g++", "-std=c++17", *flags, SOURCES / "extension.cpp", "-o", cpp], check=True)
    subprocess.run(["cc", *flags, SOURCES / "extension.c", "-o", c], check=True)
    return write_catalog(
        folder / "catalog.json",
        [*entries(CPP, "libExtension.so"), *entries(C, "libPlain.so")],
    )


FLOATS = "X = as.matrix<f32>([1.0, 2.0, 3.5](3, 1)); "
SQUARE = "X = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0](3, 2); "


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "isolated"])
@pytest.mark.parametrize("vec", [False, True], ids=["plain", "fused"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FLOATS + "print(sum::sumOfFloats(X)); print(sum::sumOfFew(X));", "6.5\n1006.5\n"),
        ("print(sum::sumOfIntegers([1, 2, 3]));", "6\n"),
        (SQUARE + "print(sum(X +::addHalf X * 2.0));", "66\n"),
        (SQUARE + "Y = X[1:, 1]; print(Y +::addHalf Y);", "DenseMatrix(2x1, double)\n8.5\n12.5\n"),
        (SQUARE + "print(sum(X *::scaled 2)); print(sum(X *::scaled 0.5));", "42\n10.5\n"),
        (SQUARE + "Y = abs::firstRows(X); print(sum(Y + X));", "42\n"),
        (SQUARE + "print(sum::storedSum(X));", "21.25\n"),
        (SQUARE + "print(sum(abs::doubled(X - 2.0)));", "18\n"),
        (SQUARE + "print(abs::halved(X[, 0]));", "DenseMatrix(3x1, double)\n0.5\n1.5\n2.5\n"),
        (
            'S = ["a", "bcd"]; T = ["", "xy"]; print(S ==::lengths T);',
            "DenseMatrix(2x1, int64_t)\n1\n5\n",
        ),
        (
            'F = createFrame([1, 2], "a"); G = createFrame([0.5], "b"); '
            "print(cartesian::pairs(F, G));",
            "Frame(1x2, [one:int64_t, two:double])\n2 0.5\n",
        ),
        (
            'F = createFrame([1, 2], "a"); G = createFrame([0.5], "b"); '
            "print(cartesian::numbered(F, G));",
            "Frame(2x3, [at:int64_t, half:double, none:uint8_t])\n1 0 0\n2 0.5 0\n",
        ),
        (
            'F = createFrame([1, 2, 3], [0.5, 1.5, 2.5], "a", "b"); G = createFrame([1], "c"); '
            "print(cartesian::chosen(F, G));",
            "Frame(2x2, [one:double, two:int64_t])\n1.5 2\n2.5 3\n",
        ),
        (
            "print(rand::manyParameters(5, 1, 0.5, 1.5, 1.0, 9));",
            "DenseMatrix(5x1, double)\n0.5\n1.5\n1\n9\n2\n",
        ),
    ],
)
def test_a_hint_chooses_a_kernel(
    text: str, wanted: str, vec: bool, isolate: bool, catalog: str
) -> None:
    options = {"kernels": ((catalog, 0),), "vec": vec, "num_threads": 2, "isolate": isolate}
    assert printed(text, **options) == wanted


def test_a_kernel_of_a_priority_comes_before_our_own(catalog: str, tmp_path: Path) -> None:
    text = FLOATS + "print(sum(X)); print(sum([0.5, 1.0]));"
    assert printed(text, kernels=((catalog, 0),)) == "6.5\n1.5\n"
    few = [entry for entry in json.loads(Path(catalog).read_text()) if "Few" in str(entry)]
    for entry in few:
        entry["libPath"] = str(Path(catalog).parent / entry["libPath"])
    path = write_catalog(tmp_path / "few.json", few)
    # Doubles are of another type: our own kernel takes them.
    assert printed(text, kernels=((path, 1),)) == "1006.5\n1.5\n"
    assert printed(text, kernels=((path, 1),), vec=True) == "1006.5\n1.5\n"
    both = FLOATS + "print(sum(X)); print(sum::sumOfFloats(X));"
    assert printed(both, kernels=((path, 5), (catalog, 0))) == "1006.5\n6.5\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("print(sum::sumOfFew([1.0]));", "takes a DenseMatrix<float>, not a matrix<f64> 1x1"),
        ("print(mean::storedSum([1.0]));", "'storedSum' is for sumAll, not for mean"),
        ("X = [1.0]; print(X -::addHalf X);", "'addHalf' is for ewAdd, not for -"),
        ("print(sum(as.matrix<f32>([1.0]) +::addHalf 1.0f));", "takes a DenseMatrix<double>"),
    ],
)
def test_a_kernel_that_does_not_fit_is_refused(text: str, problem: str, catalog: str) -> None:
    with pytest.raises(ScriptCompileError) as caught:
        printed(text, kernels=((catalog, 0),))
    assert problem in str(caught.value)
    assert caught.value.status == 2


def test_a_kernel_that_nobody_has(catalog: str) -> None:
    with pytest.raises(ScriptSyntaxError, match="no kernel 'sumOfFloat'"):
        printed("print(sum::sumOfFloat([1.0]));", kernels=((catalog, 0),))


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "isolated"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("print(sum::sumOfFew(fill(1.0f, 4, 1)));", "'sumOfFew' failed: these are too many rows"),
        ("print(abs::halved(fill(1.0, 2, 3)));", "'halved' failed: at most two columns"),
        ("print(abs::nothing([1.0]));", "'nothing' has made no result"),
        ("print(sum::missing([1.0]));", "has no function 'missing'"),
        (
            'print(cartesian::tooFar(createFrame([1], "a"), createFrame([2], "b")));',
            "'tooFar' failed: a view of a frame goes beyond its columns",
        ),
    ],
)
def test_a_kernel_that_fails_is_named(text: str, problem: str, isolate: bool, catalog: str) -> None:
    with pytest.raises(ScriptRunError) as caught:
        printed(text, kernels=((catalog, 0),), isolate=isolate)
    assert problem in str(caught.value)
    assert text in str(caught.value)
    assert caught.value.status == 3


@pytest.mark.parametrize(
    ("name", "problem"),
    [("beyond", "writes beyond its result of 24 bytes"), ("changing", "crashed (SIGSEGV)")],
)
def test_isolated_kernels_that_write_where_they_may_not_are_found(
    name: str, problem: str, catalog: str
) -> None:
    text = f'X = [1.0, 2.0, 3.0]; print("before"); print(X +::{name} X);'
    found = outcome(text, kernels=((catalog, 0),), isolate=True)
    assert f"the kernel '{name}' {problem}" in found
    assert found.startswith("before\n")
    # The next call has a process again.
    text = "X = [1.0]; print(sum(X +::addHalf X));"
    assert printed(text, kernels=((catalog, 0),), isolate=True) == "2.5\n"


@pytest.mark.parametrize("isolate", [False, True], ids=["there", "isolated"])
def test_kernels_run_on_the_blocks_of_a_cluster(
    cluster: Cluster, isolate: bool, catalog: str
) -> None:
    options: dict[str, Any] = {"kernels": ((catalog, 0),), "isolate": isolate}
    before = cluster.statistics().done
    text = "X = rand(50, 3, 0.0, 1.0, 1.0, 1); print(sum(X +::addHalf X)); print(X *::scaled 2.0);"
    assert printed_on(cluster, text, **options) == printed(text, **options)
    assert cluster.statistics().done > before
    text = "print(sum::sumOfFew(fill(1.0f, 50, 1)));"
    with pytest.raises(ScriptRunError, match="these are too many rows"):
        printed_on(cluster, text, **options)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("print(sum(X +::addHalf X));", 3),
        ("print(sum(X *::scaled 2.0));", 3),
        ("Y = as.si64(X * 10.0); print(sum::sumOfIntegers(Y));", 3),
        ("print(sum(abs::doubled(X)));", 3),
        ("print(sum(X[0:10, ] +::addHalf X[0:10, ]));", 1),
        ("Y = as.si64(reshape(X, 1, 200000)); print(sum::sumOfIntegers(Y));", 1),
        ("Y = as.si64(X) * 0 + 9223372036854775807; print(sum::sumOfIntegers(Y));", 3),
    ],
)
def test_fused_runs_call_kernels_on_rows_by_all_workers(
    text: str, calls: int, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []

    def counted(kernel: Kernel, given: Any, threads: int) -> Any:
        called.append(given[0].shape[0])
        return libraries.call_compiled(kernel, given, threads)

    monkeypatch.setattr(calling, "call_compiled", counted)
    text = f"X = rand(1000, 200, 0.0, 1.0, 1.0, 7); {text}"
    fused = printed(text, kernels=((catalog, 0),), vec=True, num_threads=3)
    assert len(called) == calls
    assert sum(called) in (1000, 10, 1)
    assert fused == printed(text, kernels=((catalog, 0),))
    assert len(called) == calls + 1


def test_the_command_line(
    catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.daphne").write_text(FLOATS + "print(sum::sumOfFew(X));")
    assert main(["run", f"--kernel-ext={catalog}", "--isolate-kernels", "s.daphne"]) == 0
    assert capsys.readouterr().out == "1006.5\n"
    assert main(["run", "--kernel-ext", f"{catalog}:1", "s.daphne"]) == 0
    assert cflags(capsys)[0].startswith("-I")
    assert main(["config"]) == 0
    assert "includedir" in capsys.readouterr().out


def test_the_page_on_kernels_does_what_it_says(
    tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/extend/kernel.md").read_text()
    shown = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', page, re.M | re.S))
    for name, text in shown.items():
        Path(name).write_text(text)
    flags = cflags(capsys)
    command, answer = re.findall(r"^\$ g\+\+ (.*)\n\$ .*\n((?:.*\n)*?)^```$", page, re.M)[0]
    words = command.replace("$(freestone config --cflags)", " ".join(flags)).split()
    subprocess.run(["g++", *words], check=True)
    assert main(["run", "--kernel-ext=norms.json", "norms.daphne"]) == 0
    assert capsys.readouterr().out == answer
    subprocess.run(["cc", "-Wall", "-Werror", "-c", *flags, "halves.c"], check=True)
    Path("s.daphne").write_text("X = [1.0, 2.0]; print(sum::sumOfCubes(X)); print(sum(X * X));")
    assert main(["run", "--kernel-ext=kernels.py", "s.daphne"]) == 0
    assert capsys.readouterr().out == "9\n5\n"


ENTRY = entries({"f": ("sumAll", ["double"], [DOUBLES])}, "libF.so")[0]


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ({}, "a catalog is a list of kernels"),
        ([1], "kernel 1 is no object"),
        ([{"opMnemonic": "sumAll"}], "kernel 1 has no 'kernelFuncName'"),
        ([ENTRY | {"backend": 1}], "'backend' of kernel 1 is no text"),
        ([ENTRY], "the library of 'f' is not there"),
        ([ENTRY | {"libPath": "k.json", "resTypes": ["void"]}], "no value has: 'void'"),
        ([ENTRY | {"libPath": "k.json", "argTypes": "x"}], "'argTypes' of kernel 1 is no list"),
    ],
)
def test_a_catalog_that_is_none_is_refused(listed: Any, problem: str, tmp_path: Path) -> None:
    path = write_catalog(tmp_path / "k.json", listed)
    with pytest.raises(ScriptCompileError) as caught:
        printed("print(1);", kernels=((path, 0),))
    assert problem in str(caught.value)


def test_libraries_that_are_none_and_other_backends_are_refused(tmp_path: Path) -> None:
    (tmp_path / "libF.so").write_text("no library")
    path = write_catalog(tmp_path / "k.json", [ENTRY, ENTRY | {"backend": "CUDA"}])
    with pytest.raises(ScriptRunError, match="can't be loaded"):
        printed("print(sum::f([1.0]));", kernels=((path, 1),))
    cuda = write_catalog(tmp_path / "cuda.json", [ENTRY | {"backend": "CUDA"}])
    assert printed("print(sum([1.0]));", kernels=((cuda, 1),)) == "1\n"
    with pytest.raises(ScriptCompileError, match="is for CUDA, which is not there"):
        printed("print(sum::f([1.0]));", kernels=((cuda, 1),))
    source, library = tmp_path / "f.c", tmp_path / "libF.so"
    source.write_text("void f(void) {}")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    with pytest.raises(ScriptRunError, match="freestone config --cflags"):
        printed("print(sum::f([1.0]));", kernels=((path, 1),))


# -- kernels in Python -------------------------------------------------------------------------


@kernel("sumAll", results="double", arguments=DOUBLES)
def total(x: Any) -> float:
    """Add a hundred."""
    return float(x.sum() + 100)


@kernel("sumAll", results="double", arguments=CSR, name="ofStored")
def of_stored(x: Any) -> float:
    """Count what is stored."""
    assert isinstance(x, scipy.sparse.csr_array)
    return float(x.nnz)


def compiled() -> Kernel:
    """A kernel that numba has compiled, of pointers and shapes."""
    pointer = types.CPointer(types.float64)
    matrix = (pointer, types.int64, types.int64)

    @numba.cfunc(types.void(*matrix, *matrix, *matrix))
    def added(out, rows, columns, x, x_rows, x_columns, y, y_rows, y_columns):  # type: ignore[no-untyped-def]
        for at in range(rows * columns):
            out[at] = x[at] + y[at] + 0.25

    return kernel("ewAdd", results=DOUBLES, arguments=[DOUBLES, DOUBLES], priority=2)(added)


def test_functions_of_the_program_are_kernels(cluster: Cluster) -> None:
    text = SQUARE + "print(sum::total(X)); print(sum::ofStored(X - 1.0)); print(sum(X));"
    assert printed(text, kernels=(total, of_stored)) == "121\n5\n21\n"
    added = compiled()
    text = "X = rand(20, 3, 0.0, 1.0, 1.0, 1); print(sum(X + X) - sum(X * 2.0));"
    assert printed(text, kernels=(added,)) == "15\n"
    assert printed(text, kernels=(added,), vec=True) == "15\n"
    assert printed_on(cluster, text, kernels=(added,)) == "15\n"


def test_lazy_values_are_computed_by_kernels_of_a_priority(catalog: str) -> None:
    context, added = DaphneContext(), compiled()
    x = context.from_numpy(np.ones((2, 3)))
    assert (x + x).sum().compute() == 12
    assert (x + x).sum().compute(Settings(vec=True, kernels=(added,))) == 13.5
    assert (x + x).sum().compute(Settings(kernels=((catalog, 0), added))) == 13.5
    assert (x - x).sum().compute(Settings(kernels=(added,))) == 0
    settings = Settings(kernels=(total,))
    assert context.run("saveDaphneLibResult(sum::total([1.0]));", settings) == [101.0]


def test_a_file_of_typed_kernels(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from freestone.lang import kernel\n"
        "@kernel('sumAll', results='double', arguments='DenseMatrix<double>')\n"
        "def mine(x): return x.sum() + 0.5\n"
    )
    assert printed("print(sum([1.0])); print(sum([1]));", kernels=((str(path), 1),)) == "1.5\n1\n"


@kernel("ewAbs", results=DOUBLES, arguments=DOUBLES)
def in_place(x: Any) -> Any:
    """Change the argument."""
    x += 100
    return x


@kernel("ewAbs", results=DOUBLES, arguments=DOUBLES)
def itself(x: Any) -> Any:
    """Return the argument."""
    return x


@kernel("ewAbs", results=CSR, arguments=CSR)
def stored_in_place(x: Any) -> Any:
    """Change what an argument stores."""
    x.data *= 2
    return x


@kernel("ewAbs", results=CSR, arguments=CSR)
def stored_itself(x: Any) -> Any:
    """Return the argument."""
    return x


@kernel("ewAbs", results=DOUBLES, arguments=DOUBLES)
def longer(x: Any) -> Any:
    """Return a row more than there should be."""
    return np.ones((x.shape[0] + 1, x.shape[1]))


@pytest.mark.parametrize("vec", [False, True], ids=["plain", "fused"])
def test_python_kernels_can_not_change_what_they_are_given(vec: bool) -> None:
    untyped = Kernel("in_place", function=in_place.function)
    for changing in (in_place, untyped, stored_in_place):
        text = f"X = [3.0, 0.0]; print(abs::{changing.name}(X));"
        found = outcome(text, kernels=(changing,), vec=vec)
        assert f"the kernel {changing.name!r} failed: ValueError" in found
        assert "write x = x + 100, or begin with x = x.copy()" in found
    mine = np.ones((2, 3))
    settings = Settings(vec=vec, kernels=(replace(in_place, priority=1),))
    with pytest.raises(ScriptRunError, match="'in_place' failed"):
        DaphneContext().from_numpy(mine).abs().compute(settings)
    assert (mine == 1).all()


@pytest.mark.parametrize("vec", [False, True], ids=["plain", "fused"])
def test_a_result_that_is_an_argument_is_a_copy(vec: bool) -> None:
    text = "X = [3.0, 5.0]; Y = abs::itself(X); Y[0, 0] = [9.0]; print(sum(X)); print(sum(Y));"
    assert printed(text, kernels=(itself,), vec=vec) == "8\n14\n"
    text = "X = [3.0, 0.0]; print(sum(abs::stored_itself(X)));"
    assert printed(text, kernels=(stored_itself,), vec=vec) == "3\n"
    mine = np.ones((2, 3))
    settings = Settings(vec=vec, kernels=(replace(itself, priority=1),))
    made = DaphneContext().from_numpy(mine).abs().compute(settings)
    assert not np.shares_memory(made, mine)


def test_results_of_another_shape_are_refused(cluster: Cluster) -> None:
    text = "X = rand(50, 3, 0.0, 1.0, 1.0, 1); print(sum(abs::longer(X)));"
    problem = "the kernel 'longer' returns elements of shape"
    assert problem in outcome(text, kernels=(longer,))
    assert problem in outcome_on(cluster, text, kernels=(longer,))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda x: {}["abc"], "the kernel 'f' failed: KeyError: 'abc' (test_kernel_catalogs.py:"),
        (lambda x: "abc", "the kernel 'f' returns a str, where ewAbs makes a matrix<f64> 2x1"),
        (lambda x: None, "the kernel 'f' returns elements of shape (), where ewAbs makes"),
    ],
)
def test_errors_of_python_kernels_name_kernel_and_type(function: Any, problem: str) -> None:
    made = kernel("ewAbs", results=DOUBLES, arguments=DOUBLES, name="f")(function)
    assert problem in outcome("X = [1.0, 2.0]; print(abs::f(X));", kernels=(made,))


def test_a_kernel_of_another_number_of_arguments_is_refused() -> None:
    none = kernel("sumAll", results="double", arguments=[], name="none")(lambda: 1.0)
    with pytest.raises(ScriptCompileError, match="'none' takes 0 arguments, where sumAll has 1"):
        printed("print(sum::none([1.0]));", kernels=(none,))
    with pytest.raises(ValueError, match="'two' has 1 types of arguments"):
        kernel("ewAbs", results=DOUBLES, arguments=DOUBLES, name="two")(lambda x, y: x)


def test_a_frame_of_a_label_twice_is_refused() -> None:
    @kernel("cartesian", results="Frame", arguments=["Frame", "Frame"])
    def doubled(x: Any, y: Any) -> Any:
        return replace(x, columns=x.columns * 2, labels=x.labels * 2, cells=x.cells * 2)

    text = (
        'F = createFrame([1, 2], "a"); G = createFrame([1], "b"); print(cartesian::doubled(F, G));'
    )
    found = outcome(text, kernels=(doubled,))
    assert "'doubled' returns a frame with the label 'a' twice" in found


POINTER, SIZE = types.CPointer(types.float64), types.int64
FEW = (types.CPointer(types.float32), SIZE, SIZE)
MATRIX = (POINTER, SIZE, SIZE)


@pytest.mark.parametrize(
    ("signature", "results", "problem"),
    [
        (types.void(*FEW, *FEW), DOUBLES, "compiled as none(float32*, int64, int64, float32*"),
        (types.float64(*MATRIX), "double", "write types.void(types.CPointer(types.float64), types"),
        (types.void(*MATRIX), "double", "which its types do not fit"),
        (types.void(*MATRIX, *MATRIX), CSR, "can't be passed to a function that numba"),
        (types.void(POINTER, *MATRIX), "double", ""),
        (types.void(*MATRIX, types.voidptr, SIZE, SIZE), DOUBLES, ""),
    ],
)
def test_signatures_of_numba_are_compared(signature: Any, results: str, problem: str) -> None:
    compiled = SimpleNamespace(
        address=1, __wrapped__=test_signatures_of_numba_are_compared, _sig=signature
    )
    made = kernel("sumAll", results=results, arguments=DOUBLES)
    if not problem:
        assert made(compiled).function.address == 1
        return
    with pytest.raises(ValueError, match=re.escape(problem)):
        made(compiled)


@pytest.mark.parametrize(
    ("kernels", "problem"),
    [
        ("k.json", "kernels='k.json' is no tuple: write "),
        (total, "is no tuple: write (total,)"),
        (
            ("k.json",),
            "'k.json' in kernels is no kernel: a file is named by its path and its prior",
        ),
        ((("k.json", "1"),), "('k.json', '1') in kernels is no kernel"),
        ((("k.json", -1),), "('k.json', -1) in kernels is no kernel"),
        ((total.function,), "total in kernels is a function, and no kernel: decorate it with"),
    ],
)
def test_settings_of_kernels_are_checked(kernels: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(problem)):
        printed("print(1);", kernels=kernels)


def test_a_priority_of_the_command_line_is_a_number(
    catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.daphne").write_text("print(1);")
    for priority in ("bad", "-1", ""):
        words = ["run", f"--kernel-ext={catalog}:{priority}", str(tmp_path / "s.daphne")]
        assert main(words) == 2
        shown = "".join(capsys.readouterr())
        assert f"the priority {priority!r} is no whole number from 0 on; write {catalog}:1" in shown


def test_operations_that_nothing_computes_are_named(catalog: str, tmp_path: Path) -> None:
    entry = json.loads(Path(catalog).read_text())[0] | {"opMnemonic": "sumAl"}
    entry["libPath"] = str(Path(catalog).parent / entry["libPath"])
    path = write_catalog(tmp_path / "k.json", [entry])
    problem = "'sumOfFloats' is for 'sumAl', which is no operation; did you mean 'sumAll'?"
    with pytest.warns(RuntimeWarning, match=re.escape(problem)):
        assert printed("print(sum([1.0]));", kernels=((path, 1),)) == "1\n"
    with pytest.raises(ValueError, match=r"'sumAl' is no operation .* did you mean 'sumAll'"):
        kernel("sumAl", results="double", arguments=DOUBLES)


@pytest.mark.parametrize("priority", ["x", -1, 1.5, True])
def test_priorities_are_whole_numbers(priority: Any) -> None:
    with pytest.raises(ValueError, match=f"priority={priority!r}: write a whole number"):
        kernel("sumAll", results="double", arguments=DOUBLES, priority=priority)


def test_types_of_kernels_are_checked() -> None:
    with pytest.raises(ValueError, match="no value has the type 'DenseMatrix'"):
        kernel("sumAll", results="double", arguments="DenseMatrix")
    assert np.isclose(float(printed("print(sum::total([1.0]));", kernels=(total,))), 101)
