"""Explain an error by its slug or its name: what happened, why, and what to do."""

from __future__ import annotations

import argparse
import importlib
import inspect
import textwrap
from collections.abc import Iterator

from freestone.cli.output import Output, pairs
from freestone.errors import FreestoneError, UsageError
from freestone.errors.base import did_you_mean

__all__ = ["configure", "execute"]

_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("error", nargs="?", metavar="ERROR", help="such as closed or ClosedError")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Show one error, or all of them."""
    # These are loaded when one is first asked for.
    importlib.import_module("freestone.errors.task")

    kinds = list(_below(FreestoneError))
    if arguments.error is None:
        listed = {kind.slug: _what(kind) for kind in sorted(kinds, key=lambda kind: kind.slug)}
        output.show(listed, lambda: pairs(listed.items()))
        return 0
    word = arguments.error.rpartition(".")[2]
    found = next((kind for kind in kinds if word in (kind.slug, kind.__name__)), None)
    if found is None:
        hint = did_you_mean(word, [name for kind in kinds for name in (kind.slug, kind.__name__)])
        raise UsageError(f"there is no error {word!r}{hint}; `freestone explain` lists them")
    explained = _explained(found)
    output.show(explained, lambda: _text(explained))
    return 0


def _explained(kind: type[FreestoneError]) -> dict[str, str]:
    from freestone.errors.explanations import EXPLANATIONS

    explained = {"slug": kind.slug, "error": kind.__name__, "what happened": _what(kind)}
    if kind.slug in EXPLANATIONS:
        explained["why"], explained["what to do"] = EXPLANATIONS[kind.slug]
    else:
        explained["more exactly"] = ", ".join(sub.slug for sub in kind.__subclasses__())
    return explained


def _text(explained: dict[str, str]) -> str:
    head = f"{explained['slug']} ({explained['error']})"
    parts = [
        f"{title}:\n{textwrap.fill(text, _WIDTH, initial_indent='  ', subsequent_indent='  ')}"
        for title, text in list(explained.items())[2:]
    ]
    return "\n".join([head, *parts])


def _what(kind: type[FreestoneError]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _below(kind: type[FreestoneError]) -> Iterator[type[FreestoneError]]:
    yield kind
    for sub in kind.__subclasses__():
        yield from _below(sub)
