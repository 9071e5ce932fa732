"""Write a file in another format."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

from freestone.cli import hdfs
from freestone.cli.output import Output
from freestone.errors import UsageError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "input", metavar="IN", nargs="+", help="a path, a URL, a pattern in quotes, or a folder"
    )
    parser.add_argument("output", metavar="OUT", help="a path or URL; its name says the format")
    parser.add_argument(
        "--from", dest="source", metavar="FORMAT", help="of IN, if its name does not say it"
    )
    parser.add_argument("--to", dest="target", metavar="FORMAT", help="of OUT, likewise")
    parser.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of reading, such as header=true",
    )
    parser.add_argument(
        "--write",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of writing, such as decimals=6",
    )
    parser.add_argument(
        "--columns",
        metavar="NAME,...",
        help="the columns of a frame that are wanted, in this order",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        help="workers that share the work; none: this process alone",
    )
    parser.add_argument(
        "--no-progress", action="store_true", help="show no bar, not even in a terminal"
    )
    hdfs.add_flags(parser)


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Read and write, block by block."""
    import freestone as fs

    hdfs.apply(
        enable=bool(arguments.enable_hdfs),
        address=arguments.hdfs_ip,
        user=arguments.hdfs_username,
    )
    begin = time.perf_counter()
    reading, writing = _options(arguments.read, "--read"), _options(arguments.write, "--write")
    progress = False if arguments.no_progress else None
    given = arguments.input[0] if len(arguments.input) == 1 else arguments.input
    if arguments.columns is not None:
        reading["columns"] = arguments.columns.split(",")
    with contextlib.ExitStack() as stack:
        if arguments.workers:
            stack.enter_context(fs.Cluster(workers=arguments.workers))
        found = fs.read(given, format=arguments.source, progress=progress, **reading)
        # A write waits for all blocks; here the bar shows them.
        found.persist()
        fs.write(found, arguments.output, format=arguments.target, progress=progress, **writing)
        shape = (
            list(found.shape) if isinstance(found, fs.Array) else [len(found), len(found.columns)]
        )
    seconds = round(time.perf_counter() - begin, 6)
    data = {
        "input": given,
        "output": arguments.output,
        "shape": shape,
        "seconds": seconds,
    }
    size = " x ".join(f"{number:,}" for number in shape)
    output.show(data, lambda: f"{arguments.output}: {size} in {seconds:.3g} s")
    return 0


def _options(words: list[str], flag: str) -> dict[str, Any]:
    options = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise UsageError(f"{flag} {word} has no value; write {flag} NAME=VALUE")
        options[name] = _value(value)
    return options


def _value(text: str) -> Any:
    """Return a truth value, a whole number, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return text
