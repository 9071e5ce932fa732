"""Runs scripts in this process."""

import io
from typing import Any

from freestone.lang.script import run_text
from freestone.lang.settings import Settings


def said(text: str, *arguments: str, **settings: Any) -> str:
    """Return what a script prints."""
    out = io.StringIO()
    run_text(text, arguments, Settings(**settings), out)
    return out.getvalue()


def both(text: str, *arguments: str) -> str:
    """Return what a script prints, which has to be the same with and without pipelines."""
    plain = said(text, *arguments)
    assert said(text, *arguments, vec=True, num_threads=2) == plain
    return plain
