"""Sum up a run's trace, or write it in another format."""

from __future__ import annotations

import argparse
import os

from freestone.cli.output import Output, require_folder
from freestone.errors import FileMissingError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("trace", metavar="TRACE", help="written by trace=... or FREESTONE_TRACE")
    parser.add_argument(
        "--perfetto", metavar="FILE", help="write it for ui.perfetto.dev or chrome://tracing"
    )


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read the trace and say what is in it."""
    if not os.path.isfile(arguments.trace):
        raise FileMissingError(arguments.trace)
    if arguments.perfetto is not None:
        require_folder(arguments.perfetto)
    from freestone.observe import perfetto, trace

    records = trace.read(arguments.trace)
    with trace.expecting_trace(arguments.trace):
        text = str(trace.summary(records))
    data = {"records": len(records), "summary": text}
    if arguments.perfetto is not None:
        with trace.expecting_trace(arguments.trace):
            data["events"] = perfetto.write(arguments.perfetto, records)
        text += f"\n{data['events']:,} events are in {arguments.perfetto}"
    output.show(data, lambda: text)
    return 0
