"""What a plan says of its memory: never less than what is measured; too much is refused."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.parse.source import Source
from freestone.lang.run.local import Run
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings

SCRIPTS = {
    "chain": "X = fill(1.0, 1000, 100); Y = X * 2.0 + 1.0; print(sum(Y / 3.0)); print(sum(Y > X));",
    "products": "X = rand(800, 90, 0.0, 1.0, 1.0, 1); print(sum(t(X) @ X)); print(sum(X @ t(X)));",
    "loop": "X = fill(1.0, 900, 90); for (i in 1:5) { X = X @ fill(0.01, 90, 90); } print(sum(X));",
    "call": "def f(A) { B = A + 1.0; return B @ t(B); } print(sum(f(fill(1.0, 500, 50))));",
    "small cells": "X = fill(as.ui8(3), 1000, 400); print(sum(as.f64(X) + 1.0));",
    "dead": "a = sum(fill(1.0, 900, 99)); b = sum(fill(2.0, 900, 99)); print(a + b);",
}


@pytest.mark.parametrize("vec", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_no_more_is_used_than_the_plan_says(name: str, vec: bool) -> None:
    settings = Settings(vec=vec, num_threads=1)
    program = compile_source(Source(SCRIPTS[name], name), {}, settings)
    assert program.peak is not None
    Run(settings).program(program)
    tracemalloc.start()
    Run(settings).program(program)
    measured = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Besides matrices there are Python's own objects.
    assert measured <= program.peak[0] + 100_000
    assert program.peak[0] < 6 * measured


def test_what_does_not_fit_is_refused() -> None:
    script = "X = fill(1.0, 1000, 10);\nprint(sum(X));\nY = X @ t(X);\nprint(sum(Y @ Y));"
    with pytest.raises(ScriptCompileError, match=r"7\.7.* MiB of memory at matmul") as caught:
        compile_source(Source(script, "s"), {}, Settings(memory_bytes=7_000_000))
    assert caught.value.line == 3
    compile_source(Source(script, "s"), {}, Settings(memory_bytes=40_000_000))


@pytest.mark.parametrize(
    ("end", "arrays"),
    [
        ('write(Y, "y.dbdf");', 0),
        ("print(sum(Y, 1));", 0),
        ("print(sum(bin(Y, 9)));", 0),
        ("a, b = recode(Y[, 0], true); print(sum(a));", 0.1),
        ("P = order(Y, 0, true, true); print(Y[P[0:9, ], ]);", 0.3),
        ("print(Y);", 2),
        ("for (i in 1:3) { print(Y); }", 2),
        ("print(Y); print(Y + 1.0);", 2),
        ("print(cumSum(Y));", 2),
        ("Z = fill(1.0, 100000, 20); print(sum(Z));", 2),
    ],
)
def test_on_a_cluster_what_is_fetched_counts(tmp_path: Path, end: str, arrays: float) -> None:
    """`arrays` are the bytes that the script's process needs, by those of the matrix."""
    path, nbytes = tmp_path / "x.dbdf", 8_000_000
    fs.write(np.ones((100_000, 10)), path)
    source = Source(f'X = readMatrix("{path}");\nY = X * 2.0;\n{end}', "s")
    settings = Settings(vec=True, distributed=True)
    program = compile_source(source, {}, settings)
    assert program.peak is not None
    assert program.peak[0] == pytest.approx(arrays * nbytes, abs=0.1 * nbytes)
    if arrays:
        little = replace(settings, memory_bytes=program.peak[0] // 2)
        with pytest.raises(ScriptCompileError, match="fetches the rows of its blocks") as caught:
            compile_source(source, {}, little)
        assert caught.value.line == 3


def test_explain_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = "X = fill(1.0, 1000, 10);\nprint(sum(X @ t(X)));"
    compile_source(Source(text, "s"), {}, Settings(explain=("memory",)))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("at most 7.7")
    assert last.endswith("of memory, at matmul s:2:13")
