"""Functions that are mapped become elementwise operations, and give what calls of them give."""

from __future__ import annotations

import pytest

from freestone import Cluster
from freestone.lang import script
from freestone.lang.compile import PASSES
from freestone.lang.front.parse.source import Source
from freestone.lang.settings import Settings
from tests.lang.scripts import outcome, outcome_on

GIVEN = """
X = rand(40, 30, -2.0, 2.0, 1.0, 1);
S = as.f32(X);
I = as.si64(X * 10.0);
U = as.ui8(abs(I));
"""
INLINED = {
    "arithmetic": "def f(x) { y = x * x + 1.0; return y / 3.0 - x; } print(map(X, f));",
    "of 32 bits": "def f(x) { return x * x / as.f32(3.0); } print(map(S, f));",
    "two ways": "def f(x) { return x > 0.0 ? sqrt(x) : 0.0 - x; } print(map(X, f));",
    "an early return": "def f(x) { if (x > 0.5) { return 1.0; } return x * x; } print(map(X, f));",
    "ways in a way": (
        "def f(x) { y = 2; if (x > 3) { if (x > 9) { y = x; } else { y = 0 - x; } } return y; }"
        "print(map(I, f));"
    ),
    "another type": "def f(x) { return as.si64(x * 10.0) % 3; } print(map(X, f));",
    "small integers": "def f(x) { return x * x + x; } print(map(U, f));",
    "a call": "def g(x) { return x + 1.0; } def f(x) { return g(g(x)) * x; } print(map(X, f));",
    "its element": "def f(x) { return x; } print(map(I, f) + 1);",
    "a division by zero": "def f(x) { return 10 / x; } print(map(I, f));",
}
CALLED = {
    "a number": "def f(x) { return 1; } print(map(X, f));",
    "a division by what the other way is for": (
        "def f(x) { return x != 0 ? 10 / x : 0; } print(map(I, f));"
    ),
    "a loop": "def f(x) { y = x; while (y < 100) { y = y * y + 2; } return y; } print(map(I, f));",
    "a loop of two variables": (
        "def f(n:si64) -> si64 { a = 1; for (i in 1:3) { a = a + n; n = a * 2; } return a + n; }"
        "print(map(I, f));"
    ),
    "a loop of none": "def f(x) { for (i in 1:2) { y = i; } return x + 1.0; } print(map(X, f));",
    "itself": "def f(x) { return x > 9 ? f(x - 1) : x; } print(map(I, f));",
    "a string": "def f(x:str) -> str { return x + x; } print(map(as.matrix<str>(I[0:2, ]), f));",
}


def maps(text: str) -> int:
    """Count the functions that are called on every element."""
    program = script.compile_source(Source(GIVEN + text, "script"), {}, Settings())
    return sum(op.kind == "map" for op in program.main.ops)


@pytest.mark.parametrize("name", INLINED)
def test_what_is_inlined_gives_what_calls_give(
    two_workers: Cluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = INLINED[name]
    assert maps(text) == 0
    found = outcome(GIVEN + text)
    assert outcome(GIVEN + text, vec=True, num_threads=2) == found
    assert outcome_on(two_workers, GIVEN + text) == found
    monkeypatch.setattr(script, "PASSES", [each for each in PASSES if each[0] != "inlining"])
    assert maps(text) == 1
    assert outcome(GIVEN + text) == found


@pytest.mark.parametrize("name", CALLED)
def test_other_functions_are_called(name: str) -> None:
    text = CALLED[name]
    assert maps(text) == 1
    assert outcome(GIVEN + text).startswith("DenseMatrix")
