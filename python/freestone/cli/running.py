"""Runs of scripts: their errors, times and statistics, as ``freestone run`` shows them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from freestone.errors import FreestoneError
from freestone.lang.settings import Settings

if TYPE_CHECKING:
    from freestone.errors.lang import ScriptError
    from freestone.lang.front.graph.graph import Program
    from freestone.lang.run.local import Run

__all__ = ["listed", "message", "run_with", "statistics"]


def run_with(run: Run, arguments: argparse.Namespace) -> int:
    """Run a script, tell its errors, and return the exit status."""
    begin = time.perf_counter()
    from freestone.errors.lang import ScriptError, ScriptRunError
    from freestone.lang.front.parse.source import failure, unexpected

    settings = run.settings
    try:
        program, times = _compiled(arguments, settings)
        with _profiled(run, settings):
            run.program(program)
        if settings.record:
            from freestone.lang.front.properties import save

            save(run.properties, settings.record)
    except ScriptError as error:
        sys.stdout.flush()
        print(message(error))
        return error.status
    except (FreestoneError, MemoryError, BrokenPipeError):
        raise
    except Exception as error:
        sys.stdout.flush()
        print(message(failure(ScriptRunError, unexpected(error))))
        return ScriptRunError.status
    finally:
        sys.stdout.flush()
        if settings.statistics:
            print(statistics(run.measured()), file=sys.stderr)
    if settings.timing:
        _tell_times(begin, *times)
    return 0


@contextmanager
def _profiled(run: Run, settings: Settings) -> Iterator[None]:
    """Measure all that a script does, as one region."""
    if not settings.profiling:
        yield
        return
    from freestone.lang.run.kernels.profiling import sample, tell

    begin = sample()
    try:
        yield
    finally:
        tell(run, "script", begin)


def _compiled(
    arguments: argparse.Namespace, settings: Settings
) -> tuple[Program, tuple[float, float, float]]:
    from freestone.lang.front.parse.parser import parse
    from freestone.lang.front.parse.source import read_source
    from freestone.lang.script import compile_source, read_arguments

    words = [*listed(arguments.args_option), *arguments.args]
    given = read_arguments(words)
    source = read_source(Path(arguments.script), arguments.script)
    begin = parsed = time.perf_counter()
    if settings.timing:
        # The builder parses by itself; here only to tell how long that takes.
        parse(source)
        parsed = time.perf_counter()
    program = compile_source(source, given, settings, Path(arguments.script))
    return program, (begin, parsed, time.perf_counter())


def listed(text: str | None) -> list[str]:
    """Return the words of an option that takes some, with commas between them."""
    return [word for word in (text or "").split(",") if word]


def _tell_times(begin: float, started: float, parsed: float, compiled: float) -> None:
    end = time.perf_counter()
    parsing = parsed - started
    seconds = {
        "startup_seconds": started - begin,
        "parsing_seconds": parsing,
        "compilation_seconds": compiled - parsed - parsing,
        "execution_seconds": end - compiled,
        "total_seconds": end - begin - parsing,
    }
    print(json.dumps({name: round(value, 6) for name, value in seconds.items()}), file=sys.stderr)


def statistics(times: Iterable[tuple[str, str, float, int]]) -> str:
    """Show name, place, seconds and count of operations as a table, the longest first."""
    from freestone.cli.output import table

    rows = []
    for name, place, seconds, count in sorted(times, key=lambda row: -row[2]):
        average = seconds / count if count else 0.0
        rows.append([name, f"{seconds:.6f}", int(count), f"{average:.6f}", place])
    return table(["operation", "seconds", "count", "average", "place"], rows)


def message(error: ScriptError) -> str:
    """Write an error as scripts tell theirs, in red on a terminal."""
    stage = {1: "parsing", 2: "compiling", 3: "running"}[error.status]
    where = str(error).removeprefix(error.problem)
    head = f"[error]: While {stage}: {error.problem}"
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return (f"\x1b[31m{head}\x1b[0m" if colour else head) + where
