"""Misspelt keywords of what a user calls are answered with the closest one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import freestone as fs
from freestone import events, malleable
from freestone.config import Config
from freestone.errors.keywords import suggest_keywords

CALLS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "settings": (Config, "memry", "memory"),
    "settings of malleable": (malleable.Config, "ros", "rows"),
    "method": (malleable.Method, "processs", "processes"),
    "ranks": (events.run, "rans", "ranks"),
    "split": (fs.split, "pre", "per"),
    "report": (fs.performance_report, "pah", "path"),
    "class method": (fs.Frame.from_pandas, "block_ros", "block_rows"),
    "inherited class method": (fs.Bag.from_blocks, "nae", "name"),
    "method of frames": (fs.Frame.sort, "descendig", "descending"),
    "file": (fs.File.read_text, "encodig", "encoding"),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_misspelt_keyword_is_answered_with_the_closest(what: str) -> None:
    call, wrong, right = CALLS[what]
    with pytest.raises(TypeError, match=f"has no argument {wrong}=1; did you mean '{right}'\\?"):
        call(**{wrong: 1})


def test_a_keyword_like_no_other_is_answered_with_all() -> None:
    @suggest_keywords
    def split(x: object, /, per: str = "core", *more: object, balance: bool = False) -> object:
        return x, per, more, balance

    assert split(1, "worker", 2, balance=True) == (1, "worker", (2,), True)
    with pytest.raises(TypeError, match="zzz=2; there are per, balance"):
        split(1, zzz=2)  # type: ignore[call-arg]
    assert str(inspect.signature(split)).startswith("(x: 'object', /, per: 'str' = 'core'")


def test_what_takes_any_keyword_or_has_no_defaults_is_left_as_it_is() -> None:
    def anything(**keywords: object) -> object:
        return keywords

    def nothing(x: object) -> object:
        return x

    assert suggest_keywords(anything) is anything
    assert suggest_keywords(nothing) is nothing
