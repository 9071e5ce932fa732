"""Functions that return in the middle: random nestings of ifs give what Python gives."""

from __future__ import annotations

import random

import pytest

from freestone.errors.lang import ScriptSyntaxError
from tests.lang.scripts import printed

GIVEN = (0, 3, 5, 8, 10)


def nested(dice: random.Random, depth: int) -> tuple[list[str], list[str]]:
    """Return statements of a function of x and y, in DaphneDSL and in Python."""
    ours: list[str] = []
    pythons: list[str] = []
    indent = "    " * depth
    for _ in range(dice.randint(0, 2 if depth < 4 else 0) + (depth == 1)):
        number = dice.randint(1, 99)
        if dice.random() < 0.3:
            ours.append(f"y = y * 2 + {number};")
            pythons.append(f"{indent}y = y * 2 + {number}")
            continue
        limit = dice.randint(0, 9)
        then, then_python = way(dice, depth)
        ours.append(f"if (x > {limit}) {then}")
        pythons += [f"{indent}if x > {limit}:", *then_python]
        if dice.random() < 0.5:
            otherwise, otherwise_python = way(dice, depth)
            ours[-1] += f" else {otherwise}"
            pythons += [f"{indent}else:", *otherwise_python]
    return ours, pythons


def way(dice: random.Random, depth: int) -> tuple[str, list[str]]:
    """Return a branch, which may return at its end."""
    ours, pythons = nested(dice, depth + 1)
    indent = "    " * (depth + 1)
    if dice.random() < 0.5:
        value = dice.choice(["y", str(dice.randint(100, 999))])
        ours.append(f"return {value};")
        pythons.append(f"{indent}return {value}")
    return f"{{ {' '.join(ours)} }}", pythons or [f"{indent}pass"]


@pytest.mark.parametrize("seed", range(150))
def test_any_way_returns_what_it_says(seed: int) -> None:
    ours, pythons = nested(random.Random(seed), 1)
    namespace: dict[str, object] = {}
    exec("\n".join(["def f(x):", "    y = x", *pythons, "    return y"]), namespace)
    function = namespace["f"]
    assert callable(function)
    script = f"def f(x: si64) -> si64 {{ y = x; {' '.join(ours)} return y; }} "
    # Not known before it runs, so that no branch is left out.
    script += "zero = as.si64(sum(rand(1, 1, 1.0, 1.0, 1.0, -1))) - 1; "
    script += " ".join(f"print(f({given} + zero));" for given in GIVEN)
    try:
        found = printed(script).split()
    except ScriptSyntaxError as error:
        if "this is never reached" not in str(error):
            raise
        # What comes after ways that all return is an error here, and none in Python.
        return
    assert found == [str(function(given)) for given in GIVEN], script


def test_a_way_that_returns_inside_of_one_that_does() -> None:
    text = "def f(x: si64) -> si64 { if (x > 5) { if (x > 7) { return 1; } return 2; } return 3; } "
    assert printed(text + "print(f(8)); print(f(6)); print(f(0));") == "1\n2\n3\n"
