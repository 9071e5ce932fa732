"""Runs of scripts: their errors, times and statistics, as ``freestone run`` shows them."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.errors import FreestoneError
from freestone.lang.settings import Settings

if TYPE_CHECKING:
    from freestone.errors.lang import ScriptError
    from freestone.lang.front.graph.graph import Program
    from freestone.lang.run.local import Run

__all__ = ["costs", "listed", "message", "run_with", "statistics", "words_of"]


def run_with(run: Run, arguments: argparse.Namespace) -> int:
    """Run a script, tell its errors, and return the exit status; with ``--json``, as JSON."""
    if not arguments.json:
        status, problem = _run(run, arguments)
        if problem:
            print(problem)
        return status
    run.printed = []
    begin = time.perf_counter()
    status, problem = _run(run, arguments)
    seconds = round(time.perf_counter() - begin, 6)
    data: dict[str, Any] = {"script": arguments.script, "status": status, "seconds": seconds}
    data["printed"] = run.printed
    if problem:
        data["error"] = problem
        print(problem, file=sys.stderr)
    print(_document(data))
    return status


def _document(data: Mapping[str, Any]) -> str:
    """Return an object as JSON; each member of it, and of its lists, has a line."""
    lines = []
    for name, value in data.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value:
            inner = (f"    {json.dumps(each, ensure_ascii=False)}" for each in value)
            text = "[\n" + ",\n".join(inner) + "\n  ]"
        lines.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}"


def _run(run: Run, arguments: argparse.Namespace) -> tuple[int, str]:
    """Run a script; return the exit status, and what its error says."""
    begin = time.perf_counter()
    from freestone.errors.lang import ScriptError, ScriptRunError
    from freestone.lang.front.parse.source import failure, unexpected

    settings, program = run.settings, None
    try:
        started = time.perf_counter()
        program = _compiled(arguments, settings)
        compiled = time.perf_counter()
        if "cost" in settings.explain:
            print("-- cost", costs(program), sep="\n", file=sys.stderr)
        with _profiled(run, settings):
            run.program(program)
        if settings.record:
            from freestone.lang.front.properties import save

            save(run.properties, settings.record)
    except ScriptError as error:
        return error.status, message(error, colour=not arguments.json)
    except (FreestoneError, MemoryError, BrokenPipeError):
        raise
    except Exception as error:
        return ScriptRunError.status, message(
            failure(ScriptRunError, unexpected(error)), colour=False
        )
    finally:
        sys.stdout.flush()
        if settings.statistics:
            print(statistics(run.measured()), file=sys.stderr)
        if program is not None and "cost" in settings.explain:
            print("-- cost, measured", costs(program, run), sep="\n", file=sys.stderr)
    if settings.timing:
        _tell_times(begin, started, compiled, program.parse_seconds)
    return 0, ""


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


def _compiled(arguments: argparse.Namespace, settings: Settings) -> Program:
    from freestone.lang.front.parse.source import read_source
    from freestone.lang.script import compile_source, read_arguments

    given = read_arguments(words_of(arguments))
    source = read_source(Path(arguments.script), arguments.script)
    return compile_source(source, given, settings, Path(arguments.script))


def words_of(arguments: argparse.Namespace) -> list[str]:
    """Return the arguments of a script: those of ``--args``, and those behind its name."""
    return [*_ARGUMENT.findall(arguments.args_option or ""), *arguments.args]


_ARGUMENT = re.compile(r'(?:"(?:\\.|[^"\\])*"?|[^,"])+')
"""What is between commas that are not in a string."""


def listed(text: str | None) -> list[str]:
    """Return the words of an option that takes some, with commas between them."""
    return [word for word in (text or "").split(",") if word]


def _tell_times(begin: float, started: float, compiled: float, parsing: float) -> None:
    end = time.perf_counter()
    seconds = {
        "startup_seconds": started - begin,
        "parsing_seconds": parsing,
        "compilation_seconds": compiled - started - parsing,
        "execution_seconds": end - compiled,
        "total_seconds": end - begin,
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


def costs(program: Program, run: Run | None = None) -> str:
    """Show what the steps of a program cost: estimated, and beside it, after a run, measured."""
    from freestone.cli.output import table
    from freestone.lang.compile.costs import steps_of
    from freestone.units import format_nbytes

    rows = []
    for step in steps_of(program):
        nbytes = "?" if step.nbytes is None else format_nbytes(step.nbytes)
        seconds = "?" if step.seconds is None else f"{step.seconds:.6f}"
        row = ["  " * step.depth + step.name, step.kernel, step.place, nbytes, seconds]
        if run is not None:
            took, count = run.times.get(step.op, (0.0, 0))
            held = run.sizes.get(step.op) if step.place == "here" else None
            row.append("" if held is None else format_nbytes(held))
            row += [f"{took / count:.6f}" if count else "", str(int(count))]
        rows.append([*row, str(step.op.place or "")])
    heads = ["step", "kernel", "place", "bytes", "seconds"]
    if run is not None:
        heads += ["measured bytes", "seconds", "times"]
    return table([*heads, "line"], rows)


def message(error: ScriptError, *, colour: bool = True) -> str:
    """Write an error as scripts tell theirs, in red on a terminal."""
    stage = {1: "parsing", 2: "compiling", 3: "running"}[error.status]
    where = str(error).removeprefix(error.problem)
    head = f"[error]: While {stage}: {error.problem}"
    colour = colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return (f"\x1b[31m{head}\x1b[0m" if colour else head) + where
