"""Mistakes that people make, and the page of their messages: `python -m tests.docs.mistakes`.

Each is graded from 1 to 5: a point for a message at all, and one each for what is wrong, where,
why, and what to type. A mistake has the part of its message that says so, or none.
"""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import freestone as fs

LIST = Path(__file__).parent / "mistakes.toml"
PAGE = Path(__file__).parents[2] / "docs/reference/mistakes.md"
_TRACEBACK = re.compile(r"\n(remote traceback:|Traceback .most recent call last.:)\n.*", re.DOTALL)
HEAD = """\
# Typical mistakes

Mistakes that are easily made, and the messages they give. The tests make each of them. The grade
counts what a message teaches: that something is wrong (1), what, where, why, and what to type (5).
Where a mistake is found in the line that makes it, that line is where. `…` stands for what differs
from machine to machine.

The message of [an error of freestone's](messages.md) has a slug, of which `freestone explain SLUG`
says more.
"""
FOOT = """
## What freestone can't tell

- `f(1).result()` with no cluster open: `AttributeError: 'int' object has no attribute 'result'`.
  Without a cluster a task is a plain function and returns its value. Open a cluster, or leave
  `.result()` out.
- `future.result()[0] = 1`: `ValueError: assignment destination is read-only`, by NumPy. Results are
  views of blocks in the cache; write into `future.result().copy()`.
- `cluster.map(pow, [1, 2, 3], [1, 2])` makes two calls: like Python's own `map`, it ends with the
  shortest.
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake, what it says, and which parts of that teach what."""

    title: str
    code: str
    message: str
    what: str
    why: str = ""
    cure: str = ""
    where: str = "line"

    @property
    def grade(self) -> int:
        """How much the message teaches, from 1 to 5."""
        return 1 + sum(bool(part) for part in (self.what, self.where, self.why, self.cure))

    @property
    def parts(self) -> list[str]:
        """Parts of the message, apart from the line that is seen in any traceback."""
        parts = (self.what, self.why, self.cure, "" if self.where == "line" else self.where)
        return [part for part in parts if part]


def mistakes() -> list[Mistake]:
    """Read the list."""
    return [Mistake(**entry) for entry in tomllib.loads(LIST.read_text("utf-8"))["mistake"]]


def message_of(code: str, cluster: Any) -> str:
    """Make a mistake, and return its message: the error and its notes, or a command's text."""
    if code.startswith("$ freestone "):
        return _printed(code.split()[2:])
    names = {"fs": fs, "np": np, "cluster": cluster, "__name__": "program"}
    try:
        exec(compile(code, "program.py", "exec"), names)
    except Exception as error:
        text = "".join(traceback.format_exception_only(error))
        return _TRACEBACK.sub("", text).strip()
    raise AssertionError(f"no mistake: {code}")


def _printed(words: list[str]) -> str:
    from freestone.cli import main

    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.suppress(SystemExit):
        main(words)
    return shown.getvalue().strip()


def is_message(text: str, message: str) -> bool:
    """Whether a text is a message, but for what `…` stands for."""
    pattern = ".*?".join(map(re.escape, message.strip().split("…")))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def page() -> str:
    """Make the page."""
    return "\n".join([HEAD, *map(_entry, mistakes())]) + FOOT


def _entry(mistake: Mistake) -> str:
    language = "console" if mistake.code.startswith("$") else "py"
    code, message = mistake.code.strip(), "\n".join(wrapped(mistake.message))
    return (
        f"## {mistake.title} ({mistake.grade} of 5)\n"
        f"```{language}\n{code}\n```\n```text\n{message}\n```\n"
    )


def wrapped(message: str) -> list[str]:
    """Break a message into lines, for those who read."""
    return [
        part
        for line in message.strip().splitlines()
        for part in textwrap.wrap(line, 110, subsequent_indent="  ")
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
