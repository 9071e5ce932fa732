"""The engine's schemes pass the kit, and schemes of packages that are wrong do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from freestone.enumerations import SCHEMES
from freestone.errors import PluginError
from freestone.lang.schemes import cut_by
from freestone.lang.script import run_text
from freestone.lang.settings import Settings
from freestone.testing import check_scheme
from tests.extend.installing import add_metadata

MODULE = """
class Scheme:
    def __init__(self, sizes):
        self.sizes = sizes

THIRDS = Scheme(lambda rows, workers: [max(rows // 3, 1)] * 4)
SHORT = Scheme(lambda rows, workers: [1] * (rows - 1))
EMPTY = Scheme(lambda rows, workers: iter([3, 0]))
WORDS = Scheme(lambda rows, workers: ["many"])
BROKEN = Scheme(lambda rows, workers: 1 // 0)
HUGE = Scheme(lambda rows, workers: [2**80])
ODD = Scheme(lambda rows, workers, calls=[]: calls.append(1) or [len(calls)] * rows)
"""
SCRIPT = "X = seq(0.0, 999.0, 1.0); print(sum(X * X));"


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plugin_schemes.py").write_text(MODULE)
    names = ("THIRDS", "SHORT", "EMPTY", "WORDS", "BROKEN", "HUGE", "ODD")
    entries = {name: f"plugin_schemes:{name}" for name in names}
    add_metadata(tmp_path, "plugin-schemes", {"freestone.schemes": entries})
    return tmp_path


@pytest.mark.parametrize("name", [*SCHEMES, "THIRDS", "HUGE"])
def test_schemes_pass(name: str) -> None:
    check_scheme(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("SHORT", r"and its sizes\(1, 1\) ends with 1 rows in no task"),
        ("EMPTY", r"and its sizes\(7, 1\) has 0 after 1 others; each is 1 at least"),
        ("WORDS", r"and its sizes\(1, 1\) fails: .* \(TypeError\)"),
        ("BROKEN", r"and its sizes\(1, 1\) fails: .* \(ZeroDivisionError\)"),
        ("ODD", r"of ODD are not the same when asked for again"),
    ],
)
def test_what_is_wrong_is_found(name: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_scheme(name)


def test_a_pipeline_is_cut_by_the_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    cut = cut_by("THIRDS")
    assert callable(cut)
    assert cut(1_000, 2) == [333, 333, 333, 1]
    run_text(SCRIPT, settings=Settings(vec=True, partitioning="THIRDS", grain_size=400))
    assert capsys.readouterr().out == "3.32834e+08\n"


def test_a_script_names_the_package_that_is_wrong() -> None:
    settings = Settings(vec=True, partitioning="BROKEN")
    with pytest.raises(PluginError, match=r"'BROKEN' of plugin-schemes 1.0 .* division"):
        run_text(SCRIPT, settings=settings)


def test_unknown_schemes_are_compared_with_those_that_are_installed() -> None:
    with pytest.raises(ValueError, match=r"no scheme 'THIRD'.*did you mean 'THIRDS'"):
        cut_by("THIRD")
