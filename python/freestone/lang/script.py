"""A script, from its text to its end."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptCompileError, ScriptSyntaxError
from freestone.lang.compile import PASSES
from freestone.lang.front.build.builder import Builder
from freestone.lang.front.build.search import Search
from freestone.lang.front.extensions.loading import kernels_of
from freestone.lang.front.graph.explaining import explain
from freestone.lang.front.graph.graph import Program
from freestone.lang.front.parse.lexer import literal_value, tokens
from freestone.lang.front.parse.source import Source, failure, unexpected
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.run.local import Run
from freestone.lang.settings import Settings

MAX_FRAMES = 20_000
Arguments = dict[str, tuple[Scalar, str]]


def read_arguments(words: Iterable[str]) -> Arguments:
    """Read ``name=literal`` words.

    Raises
    ------
    ScriptSyntaxError
        If a word is none, or a name is given twice.

    Examples
    --------
    >>> read_arguments(["x=1", "s=-2.5"])
    {'x': (1, 'si64'), 's': (-2.5, 'f64')}
    """
    found: Arguments = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier():
            advice = "options stand before the script, as in freestone run --vec s.daph x=1"
            advice = advice if word.startswith("-") else "write name=value"
            raise failure(ScriptSyntaxError, f"{word!r} is no argument; {advice}")
        if name in found:
            raise failure(ScriptSyntaxError, f"the argument {name!r} is given twice")
        found[name] = _literal(name, text)
    return found


def _literal(name: str, text: str) -> tuple[Scalar, str]:
    source = Source(text, f"argument {name}")
    token, *rest = tokens(source)
    minus = token.text == "-"
    if minus:
        token, *rest = rest
    problem = f"the value of {name} has to be a literal, not {text!r}; strings need their quotes"
    if token.kind != "literal" or token.value is None or len(rest) != 1:
        raise failure(ScriptSyntaxError, problem)
    if not minus:
        return literal_value(token), token.value_type
    if isinstance(token.value, str | bool):
        raise failure(ScriptSyntaxError, problem)
    return -token.value, token.value_type


def compile_source(
    source: Source, arguments: Arguments, settings: Settings, path: Path | None = None
) -> Program:
    """Build a program from a script's text, and improve it pass by pass.

    Raises
    ------
    ScriptError
        With the place of what is wrong.
    """
    builder = Builder(arguments, Search(settings.folders, settings.libraries))
    builder.propagate = settings.propagate
    builder.kernels = kernels_of(settings)
    limit = sys.getrecursionlimit()
    # A sum of a thousand terms is a tree as deep; Python's own frames are on the heap.
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    try:
        program = builder.build(source, path)
        explain("built", program, settings)
        for stage, change in PASSES:
            change(program, settings)
            explain(stage, program, settings)
    except RecursionError:
        problem = "this expression is too long; give a part of it a name"
        raise failure(ScriptSyntaxError, problem, builder.place) from None
    except (FreestoneError, MemoryError):
        raise
    except Exception as error:
        raise failure(ScriptCompileError, unexpected(error), builder.place) from error
    finally:
        sys.setrecursionlimit(limit)
    return program


def run_text(
    text: str,
    arguments: Iterable[str] = (),
    settings: Settings | None = None,
    out: TextIO | None = None,
    file: str = "script",
) -> None:
    """Run a script that is given as text.

    Raises
    ------
    ScriptError
        With the place in the script; its ``status`` is what ``freestone run`` exits with.
    """
    settings = settings or Settings()
    program = compile_source(Source(text, file), read_arguments(arguments), settings)
    Run(settings, out).program(program)
