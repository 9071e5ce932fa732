"""What commands say: a table for people, JSON for programs, or nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TextIO

from freestone.errors import FileMissingError

__all__ = ["Form", "Output", "add_form", "pairs", "require_folder", "silence", "table"]

Form = Literal["table", "json", "quiet"]


def add_form(parser: argparse.ArgumentParser, *, is_nested: bool = False) -> None:
    """Let a command, or what is nested in it, take ``--json`` or ``--quiet``."""
    # What is nested must not undo what stands before it.
    unless_given = argparse.SUPPRESS if is_nested else False
    form = parser.add_mutually_exclusive_group()
    for word, meaning in (("--json", "say it as JSON"), ("--quiet", "say nothing")):
        form.add_argument(word, action="store_true", default=unless_given, help=meaning)


def require_folder(path: str) -> None:
    """Refuse a path to write to in a folder that is not there."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileMissingError(folder, "is no folder; make it, or write elsewhere")


def silence() -> None:
    """Print no more, since nobody reads standard output; Python would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Output:
    """Says what a command found, in the form that was asked for.

    Parameters
    ----------
    form : {"table", "json", "quiet"}
        Which.
    stream : file, optional
        Where; standard output by default.
    """

    def __init__(self, form: Form, stream: TextIO | None = None) -> None:
        self.form: Form = form
        self._stream = stream

    def show(self, data: Mapping[str, Any] | Sequence[Any], text: Callable[[], str]) -> None:
        """Show data as JSON, or as the text made from them."""
        if self.form == "json":
            self._print(json.dumps(data, indent=2, default=str))
        elif self.form == "table":
            self._print(text())

    def fail(self, slug: str, message: str, notes: Iterable[str] = ()) -> None:
        """Tell an error: to people on standard error, to programs as JSON as well."""
        from freestone.errors.explanations import EXPLANATIONS

        more = [f"why, and what to do: freestone explain {slug}"] if slug in EXPLANATIONS else []
        print(f"{slug}: {message}", *notes, *more, sep="\n", file=sys.stderr)
        if self.form == "json":
            self._print(json.dumps({"error": slug, "message": message}, indent=2))

    def _print(self, text: str) -> None:
        if text:
            stream = self._stream or sys.stdout
            # One write: a reader that stops after the first line has had all that was written.
            stream.write(f"{text}\n")
            stream.flush()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out rows under their heads; columns of numbers stand to the right.

    Examples
    --------
    >>> print(table(["name", "calls"], [["mass", 12], ["add", 3]]))
    name  calls
    mass     12
    add       3
    """
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    numeric = [
        bool(texts) and all(text[:1].isdigit() or text == "-" for text in column)
        for column in zip(*texts, strict=True)
    ] or [False] * len(head)
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in [head, *texts]
    ]
    return "\n".join(lines)


def pairs(items: Iterable[tuple[str, object]]) -> str:
    """Lay out names and values in two columns."""
    items = list(items)
    width = max((len(name) for name, _ in items), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in items)
