"""What polars says badly, or not at all, of frames: errors that say what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import freestone as fs

FRAME = fs.Frame.from_polars(pl.DataFrame({"a": [1, 2, 3], "b": [1.0, 2.0, 3.0]}), 2)
CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: FRAME.filter("a > 1"), r"filter\('a > 1'\).*pl.col.*fs.sql"),
    (lambda: FRAME.remove("a > 1"), r"a text is the name of a column"),
    (lambda: FRAME.filter(lambda x: x), r"no functions; x.map_blocks"),
    (lambda: list(FRAME.group_by("a")), r"group_by\(\) makes is not iterated over.*agg"),
    (lambda: list(FRAME.rolling("a", period="1i")), r"rolling\(\) makes is not iterated"),
    (lambda: FRAME.group_by("a")["b"], r"agg\(pl.col\('b'\).sum\(\)\)"),
]


@pytest.mark.parametrize(("call", "reason"), CALLS)
def test_errors_say_what_to_write(call: Callable[[], Any], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        call()


def test_a_column_of_booleans_is_named_by_a_text() -> None:
    frame = FRAME.with_columns(is_large=pl.col("a") > 1)
    assert frame.filter("is_large").to_polars().height == 2
    assert FRAME.filter(b=2.0).to_polars().rows() == [(2, 2.0)]
