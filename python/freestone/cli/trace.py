"""Sum up a run's trace, or write it in another format."""

from __future__ import annotations

import argparse
import os
from typing import Any

from freestone.cli.output import Output, require_folder
from freestone.errors import FileMissingError, FormatError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        help="written by trace=... or FREESTONE_TRACE, also by ranks: run.json.partial",
    )
    parser.add_argument(
        "--perfetto", metavar="FILE", help="write it for ui.perfetto.dev or chrome://tracing"
    )


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read the trace and say what is in it."""
    if not os.path.exists(arguments.trace):
        raise FileMissingError(arguments.trace)
    if arguments.perfetto is not None:
        require_folder(arguments.perfetto)
    if os.path.isdir(arguments.trace):
        data, text = _of_ranks(arguments.trace, arguments.perfetto)
    else:
        data, text = _of_run(arguments.trace, arguments.perfetto)
    if arguments.perfetto is not None:
        text += f"\n{data['events']:,} events are in {arguments.perfetto}"
    output.show(data, lambda: text)
    return 0


def _of_run(path: str, perfetto_path: str | None) -> tuple[dict[str, Any], str]:
    from freestone.observe import perfetto, trace

    records = trace.read(path)
    with trace.expecting_trace(path):
        text = str(trace.summary(records))
    data: dict[str, Any] = {"records": len(records), "summary": text}
    if perfetto_path is not None:
        with trace.expecting_trace(path):
            data["events"] = perfetto.write(perfetto_path, records)
    return data, text


def _of_ranks(folder: str, perfetto_path: str | None) -> tuple[dict[str, Any], str]:
    """Return what there is to say of ranks, by what each has noted in a file of a folder."""
    from freestone.observe import chrome, ranks
    from freestone.observe.report import ranks as report
    from freestone.observe.rings import read_folder

    found = list(ranks.events(read_folder(folder)))
    if not found:
        raise FormatError(folder, "no rank has noted in it what it did: it has no file rank-0")
    text = "\n".join(report.summary(report.load(found)))
    data: dict[str, Any] = {"summary": text}
    if perfetto_path is not None:
        data["events"] = chrome.write(perfetto_path, found, "ns")
    return data, text
