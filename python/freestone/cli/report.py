"""Show a trace of a run, of ranks or of resizes in a browser, or draw it as one page."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.cli.output import Output, require_folder
from freestone.errors import FileMissingError, UsageError

if TYPE_CHECKING:
    from freestone.observe.dashboard import Shown

__all__ = ["configure", "execute"]


@dataclass(frozen=True)
class _Report:
    """What is known of a trace, as text, as a page of its own, and to be served."""

    data: dict[str, Any]
    page: Callable[[], str]
    shown: Callable[[], Shown]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "trace", metavar="TRACE", help="written by trace=..., of a cluster, ranks or resizes"
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write a page that needs no server; TRACE.html by default where output is no terminal",
    )
    parser.add_argument(
        "--serve", action="store_true", help="show it in a browser until Ctrl-C, by default"
    )
    parser.add_argument("--compare", metavar="OLD", help="the trace of a run to compare it with")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read the trace, say what it says first, and show it or write the page."""
    for path in filter(None, (arguments.trace, arguments.compare)):
        if not os.path.exists(path):
            raise _missing(path)
    if arguments.out and arguments.serve:
        raise UsageError("-o writes a page, and --serve shows one: give one of them")
    if arguments.out:
        require_folder(arguments.out)
    report = _load(arguments.trace, arguments.compare)
    if arguments.serve or (not arguments.out and _is_watched(output)):
        return _serve(report, output)
    out = Path(arguments.out or Path(arguments.trace).with_suffix(".html"))
    require_folder(str(out))
    out.write_text(report.page(), "utf-8")
    lines = [*report.data["says"], f"The figures are in {out}"]
    output.show({"page": str(out), **report.data}, lambda: "\n".join(lines))
    return 0


def _missing(path: str) -> FileMissingError:
    partial = f"{path}.partial"
    if os.path.exists(partial):
        return FileMissingError(
            path,
            f"does not exist, as its run goes on or was killed; {partial} has what was recorded",
        )
    return FileMissingError(path)


def _is_watched(output: Output) -> bool:
    return output.form == "table" and sys.stdout.isatty()


def _serve(report: _Report, output: Output) -> int:
    from freestone.observe.dashboard import Dashboard

    shown = report.shown()
    try:
        page = Dashboard(lambda: shown)
    except OSError as error:
        raise UsageError(
            f"nothing can listen on this machine's loopback ({error}): -o FILE writes a page"
        ) from error
    lines = [*report.data["says"], f"The page is at {page.link} until Ctrl-C; -o FILE writes one"]
    try:
        output.show({"page": page.link, **report.data}, lambda: "\n".join(lines))
        sys.stdout.flush()
        _open_browser(page.link)
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        page.close()
    return 0


def _open_browser(link: str) -> None:
    """Open the page where there is a screen: a browser in the terminal would show none of it."""
    has_screen = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if has_screen or sys.platform == "darwin":
        import webbrowser

        webbrowser.open(link)


def _load(path: str, old: str | None) -> _Report:
    from freestone.observe import chrome

    if not os.path.isdir(path) and not chrome.is_chrome(path):
        return _of_run(path, old)
    if old is not None:
        raise UsageError(f"--compare is for traces of runs, and {path} is of ranks")
    return _of_ranks(path)


def _of_run(path: str, old: str | None) -> _Report:
    from freestone.observe import report, trace
    from freestone.observe.dashboard.recorded import RecordedRun

    name = Path(path).stem
    records = trace.read(path)
    with trace.expecting_trace(path):
        run = report.load(records)
    before = None
    if old:
        with trace.expecting_trace(old):
            before = (Path(old).stem, report.load(trace.read(old)))
    lines = report.summary(run)
    if before:
        lines += report.compare_summary(run, before[1], before[0])
    lines += [f"Try: {line}" for line in report.advice(run)]
    return _Report(
        {"seconds": run.seconds, "says": lines},
        lambda: report.page(run, name, before),
        lambda: RecordedRun(name, records, run, before),
    )


def _of_ranks(path: str) -> _Report:
    from freestone.observe import trace
    from freestone.observe.dashboard.ranks import read_ranks
    from freestone.observe.dashboard.recorded import RecordedRanks
    from freestone.observe.report import ranks

    with trace.expecting_trace(path):
        found = ranks.load(read_ranks(path))
    return _Report(
        {"seconds": found.seconds, "says": ranks.summary(found)},
        lambda: ranks.page(found, Path(path).stem),
        lambda: RecordedRanks(os.path.abspath(path)),
    )
