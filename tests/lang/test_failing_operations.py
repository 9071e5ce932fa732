"""Operations that fail do so in every mode, though nobody uses what they would make."""

from __future__ import annotations

from pathlib import Path

import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptRunError
from freestone.lang.front.parse.source import Source
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings
from tests.lang.scripts import outcome, outcome_on, printed_on

UNUSED = {
    "an element of a list": ("l = createList([1]); l, e = remove(l, 5);", "outside of a list"),
    "an element that is replaced": (
        "l = createList([1]); m, e = replaceElementInList(l, 1, [2]);", "outside of a list",
    ),
    "an element that is looked up": (
        "l = createList([1]); e = getElementInList(l, 5);", "outside of a list",
    ),
    "scalars": ("i = 7 / as.scalar([0]);", "divided by zero"),
    "cells": ("X = seq(1, 5000); Y = X / (X - 7);", "divided by zero"),
    "cells of a chain": ("X = seq(1, 5000); Y = (X % (X - 7)) * 2 + 1;", "divided by zero"),
    "cells of which the shape is read": (
        "X = seq(1, 5000); print(nrow(X / (X - 7)));", "divided by zero",
    ),
    "cells beside what is used": (
        "X = seq(1, 5000); A = X * 2; B = A / (A - 14); print(sum(A));", "divided by zero",
    ),
    "a position": ("X = seq(1, 50); y = X[as.scalar([50]), 0];", "row 50 is outside"),
    "a number": ('x = as.f64(as.scalar(["a"]));', "is no number"),
    "equations": ("x = solve(fill(0.0, 2, 2), [1.0, 2.0]);", "singular"),
    "in a function": ("def f(x) { y = x / 0; return x; } print(f(as.scalar([1])));", "by zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSED)
def test_what_nobody_uses_fails_all_the_same(two_workers: Cluster, name: str) -> None:
    text, problem = UNUSED[name]
    text = f'print("before"); {text} print("never");'
    plain = outcome(text)
    assert plain.startswith(f"before\n{plain[7:]}")
    assert problem in plain
    assert "never\n" not in plain
    assert outcome(text, vec=True, num_threads=2) == plain
    assert outcome(text, memory_bytes=250_000) == plain
    with pytest.raises(ScriptRunError, match=problem):
        printed_on(two_workers, text)


ORDERED = {
    "cells that are printed": "print(X / (X - 4999));",
    "cells that are printed later": "Y = X / (X - 4999); print(sum(X)); print(Y);",
    "a sum that is printed later": "Y = sum(X % (X - 4999)); print(sum(X)); print(Y);",
    "cells that are read after an output": "Y = X / (X - 4999); print(nrow(X)); print(sum(Y + 1));",
    "cells that nobody reads": "Y = X / (X - 4999); print(sum(X));",
    "cells below others": "Y = X / (X - 4999); print(sum(X)); print(rbind(X, Y));",
    "cells that come after an output": "print(sum(X)); Y = X / (X - 4999); print(sum(Y) + sum(X));",
}


@pytest.mark.parametrize("name", ORDERED)
def test_strips_fail_before_the_same_outputs(name: str) -> None:
    text = f"X = seq(1, 5000) @ fill(1, 1, 3); {ORDERED[name]}"
    plain = outcome(text)
    assert "divided by zero" in plain
    assert outcome(text, memory_bytes=60_000) == plain
    assert outcome(text, vec=True, num_threads=2, memory_bytes=60_000) == plain
    ends = text.replace("4999", "6000")
    assert outcome(ends, memory_bytes=60_000) == outcome(ends)


TWICE = {
    "one alone, one fused with what both read": (
        "C = cumSum(X / (X + 1)); print(sum((X % (X + 1)) * 2));"
    ),
    "both in chains": (
        "A = X * 2; B = A / (A + 2); C = X % (X + 1); print(sum(C)); print(sum(B + A));"
    ),
    "by other rows": "A = (X * 2) % (X - 900); B = (X * 3) / (X + 1); print(sum(A + B));",
    "by other rows, read the other way": (
        "B = (X * 3) / (X - 900); A = X % (X + 1); print(sum(A)); print(sum(B));"
    ),
    "the first one after a sum, the second one without": (
        "A = (X + aggMax(X)) % (X - 900); B = cumSum(X / (X + 1)); print(sum(A)); print(sum(B));"
    ),
    "in a chain, by other rows": "print(sum((X % (X - 900)) + (X / (X + 1))));",
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_of_two_failures_the_first_one_is_reported(two_workers: Cluster, name: str) -> None:
    text = f"X = seq(-1, 998) @ fill(1, 1, 3);\n{TWICE[name]}"
    plain = outcome(text)
    assert "divided by zero" in plain
    assert outcome(text, vec=True, num_threads=2) == plain
    assert outcome(text, memory_bytes=10_000) == plain
    assert outcome(text, vec=True, memory_bytes=10_000) == plain
    assert outcome_on(two_workers, text) == plain


@pytest.mark.parametrize("where", ["script.csv", "other.csv"])
def test_strips_that_fail_write_no_file(tmp_path: Path, where: str) -> None:
    text = "X = seq(1, 5000) @ fill(1, 1, 3); Y = X / (X - 4999); Z = X * 2; "
    text += f'write({"Y" if where == "script.csv" else "Z"}, "{tmp_path / where}"); print(sum(Y));'
    assert "divided by zero" in outcome(text, memory_bytes=60_000)
    assert list(tmp_path.iterdir()) == []


def test_what_may_fail_is_cut_into_strips_though_nobody_reads_it() -> None:
    source = Source("X = seq(1, 5000) @ fill(1, 1, 3); Y = X / (X - 7); print(sum(X));", "script")
    program = compile_source(source, {}, Settings(memory_bytes=60_000))
    assert [op.kind for op in program.main.ops if op.kind == "binary"] == []


@pytest.mark.parametrize(
    "text",
    ["Y = X * 2.0;", "Y = t(X) @ X;", "Y = sum(X);", "Y = X[0:2, ];", "Y = as.si64(X);"],
)
def test_what_can_not_fail_is_dropped(text: str) -> None:
    source = Source(f"X = rand(20, 3, 0.0, 1.0, 1.0, 1); {text} print(1);", "script")
    program = compile_source(source, {}, Settings())
    assert [op.kind for op in program.main.ops] == ["print"]
