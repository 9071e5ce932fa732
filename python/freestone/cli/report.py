"""Draw a run's trace as one page for a browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from freestone.cli.output import Output, require_folder
from freestone.errors import FileMissingError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("trace", metavar="TRACE", help="written by trace=... or FREESTONE_TRACE")
    parser.add_argument("-o", "--out", metavar="FILE", help="the page; by default TRACE.html")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read the trace, write the page, and say what it says first."""
    if not os.path.isfile(arguments.trace):
        raise FileMissingError(arguments.trace)
    from freestone.observe import report, trace

    out = Path(arguments.out or Path(arguments.trace).with_suffix(".html"))
    require_folder(str(out))
    records = trace.read(arguments.trace)
    with trace.expecting_trace(arguments.trace):
        run = report.load(records)
    out.write_text(report.page(run, Path(arguments.trace).stem), "utf-8")
    lines = [*report.summary(run), *(f"Try: {line}" for line in report.advice(run))]
    data = {"page": str(out), "seconds": run.seconds, "says": lines}
    output.show(data, lambda: "\n".join([*lines, f"The figures are in {out}"]))
    return 0
