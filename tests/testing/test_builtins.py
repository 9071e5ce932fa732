"""Functions of the language pass the kit, and those that are wrong do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from freestone.errors import PluginError, ScriptSyntaxError
from freestone.lang.script import run_text
from freestone.testing import check_builtin
from tests.extend.installing import add_metadata

X = np.arange(1.0, 13.0).reshape(4, 3)
MODULE = """
from freestone.lang.front.builtins import call, make_builtin

TWICE = make_builtin("twice", "x", lambda emitter, x: call(emitter, "*", x, 2.0))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plugin_twice.py").write_text(MODULE)
    return tmp_path


def test_functions_of_the_language_pass() -> None:
    check_builtin("exp", [((X,), np.exp(X))])
    check_builtin("sum", [((X,), X.sum())])
    check_builtin("transpose", [((X,), X.T)])


def test_another_result_is_found() -> None:
    with pytest.raises(AssertionError, match="case 1 of sqrt, operation by operation: array"):
        check_builtin("sqrt", [((X,), np.sqrt(X)), ((X,), X)])


def test_another_shape_is_found(site: Path) -> None:
    add_metadata(site, "plugin-twice", {"freestone.builtins": {"twice": "plugin_twice:TWICE"}})
    check_builtin("twice", [((X,), 2 * X)])
    with pytest.raises(AssertionError, match=r"case 0 of twice, .*: shape \(4, 3\), wanted \(3, 4"):
        check_builtin("twice", [((X,), 2 * X.T)])


def test_a_function_of_another_name_is_refused(site: Path) -> None:
    add_metadata(site, "plugin-thrice", {"freestone.builtins": {"thrice": "plugin_twice:TWICE"}})
    with pytest.raises(PluginError, match=r"plugin-thrice 1.0 .* is called 'twice'"):
        run_text("print(thrice(1.0));")


def test_an_unknown_function_is_compared_with_those_of_other_packages(site: Path) -> None:
    add_metadata(site, "plugin-near", {"freestone.builtins": {"twicely": "plugin_twice:TWICE"}})
    with pytest.raises(ScriptSyntaxError, match="no function 'twicel'; did you mean 'twicely'"):
        run_text("print(twicel(1.0));")


def test_a_check_without_cases_fails() -> None:
    with pytest.raises(AssertionError, match="there are no cases to check 'sqrt' with"):
        check_builtin("sqrt", [])
