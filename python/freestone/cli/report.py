"""Draw a trace of a run, of ranks or of resizes as one page for a browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.cli.output import Output, require_folder
from freestone.errors import FileMissingError, UsageError

if TYPE_CHECKING:
    from freestone.observe.report.series import Run

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "trace", metavar="TRACE", help="written by trace=..., of a cluster, ranks or resizes"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="the page; by default TRACE.html")
    parser.add_argument("--compare", metavar="OLD", help="the trace of a run to compare it with")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read the trace, write the page, and say what it says first."""
    for path in filter(None, (arguments.trace, arguments.compare)):
        if not os.path.isfile(path):
            raise FileMissingError(path)
    from freestone.observe import chrome

    out = Path(arguments.out or Path(arguments.trace).with_suffix(".html"))
    require_folder(str(out))
    if not chrome.is_chrome(arguments.trace):
        data, page = _of_run(arguments.trace, arguments.compare)
    elif arguments.compare is None:
        data, page = _of_ranks(arguments.trace)
    else:
        raise UsageError(f"--compare is for traces of runs, and {arguments.trace} is of ranks")
    out.write_text(page, "utf-8")
    lines = data["says"]
    output.show(
        {"page": str(out), **data}, lambda: "\n".join([*lines, f"The figures are in {out}"])
    )
    return 0


def _of_run(path: str, old: str | None) -> tuple[dict[str, Any], str]:
    from freestone.observe import report

    run = _loaded(path)
    before = (Path(old).stem, _loaded(old)) if old else None
    lines = report.summary(run)
    if before:
        lines += report.compare_summary(run, before[1], before[0])
    lines += [f"Try: {line}" for line in report.advice(run)]
    return {"seconds": run.seconds, "says": lines}, report.page(run, Path(path).stem, before)


def _loaded(path: str) -> Run:
    from freestone.observe import report, trace

    records = trace.read(path)
    with trace.expecting_trace(path):
        return report.load(records)


def _of_ranks(path: str) -> tuple[dict[str, Any], str]:
    from freestone.observe import chrome, trace
    from freestone.observe.report import ranks

    with trace.expecting_trace(path):
        found = ranks.load(chrome.read(path))
    data = {"seconds": found.seconds, "says": ranks.summary(found)}
    return data, ranks.page(found, Path(path).stem)
