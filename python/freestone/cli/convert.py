"""Write a file in another format."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import time
from datetime import date, datetime
from typing import Any

from freestone.cli import hdfs
from freestone.cli.output import Output
from freestone.errors import UsageError

__all__ = ["configure", "execute"]

COMPARISON = re.compile(
    r"\s*(?P<column>.+?)\s*(?P<operator>==|!=|<=|>=|<|>|(?<=\s)(?:not\s+)?in(?=\s))\s*(?P<value>.+?)\s*"
)


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
        help="an option of reading, such as header=true; several times for a list, as missing=NA, "
        "and NAME.COLUMN=VALUE for one column, as types.id=str",
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
        "--where",
        action="append",
        metavar="'COLUMN OP VALUE'",
        help="the rows of a frame that are wanted, such as 'year >= 2020' or 'station in 7,8'; "
        "several times: all have to be true; a text that looks like a number is in quotes, as "
        "\"id in '007','008'\"",
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
    if arguments.where is not None:
        reading["where"] = [_comparison(text) for text in arguments.where]
    _check_is_other(given, arguments.output)
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
        "found": found.found,
        "seconds": seconds,
    }
    size = " x ".join(f"{number:,}" for number in shape)
    shown = "".join(f"; found {name}={value!r}" for name, value in found.found.items())
    is_csv = arguments.target == "csv" or arguments.output.lower().endswith((".csv", ".tsv"))
    if isinstance(found, fs.Frame) and is_csv and not {"header", "meta"} & {*writing}:
        shown += f"; its columns are named in {arguments.output}.meta, and by --write header=true"
    output.show(data, lambda: f"{arguments.output}: {size} in {seconds:.3g} s{shown}")
    return 0


def _check_is_other(given: str | list[str], output: str) -> None:
    """Refuse to write over what is read: inferred types and options would change it for good."""
    from freestone.io.many import find_files

    if not os.path.exists(output):
        return
    for found in find_files(given):
        if os.path.exists(found.url) and os.path.samefile(found.url, output):
            raise UsageError(f"{output} is read itself; write to another file, and move it there")


def _options(words: list[str], flag: str) -> dict[str, Any]:
    """Return options by name: a list of one that is there twice, a dict of NAME.KEY=VALUE."""
    options: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise UsageError(f"{flag} {word} has no value; write {flag} NAME=VALUE")
        whole, dot, key = name.partition(".")
        of_other_form = dot != "" or isinstance(options.get(whole), dict)
        if of_other_form and not (dot and isinstance(options.setdefault(whole, {}), dict)):
            raise UsageError(f"{flag} {word}: {whole} is given as a whole, and by keys; give one")
        place, name = (options[whole], key) if dot else (options, name)
        if name not in place:
            place[name] = _value(value)
        else:
            known = place[name]
            place[name] = [*(known if isinstance(known, list) else [known]), _value(value)]
    return options


def _comparison(text: str) -> tuple[str, str, Any]:
    """Return a comparison of `where=`; the values of ``in`` have commas between them."""
    found = COMPARISON.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--where {text!r} is no comparison; write 'COLUMN OP VALUE', as in --where "
            "'year >= 2020', with one of == != < <= > >= in 'not in'"
        )
    operator = " ".join(found["operator"].split())
    if operator.endswith("in"):
        return found["column"], operator, [_compared(each) for each in found["value"].split(",")]
    return found["column"], operator, _compared(found["value"])


def _compared(text: str) -> Any:
    """Return a number, a date or time in ISO 8601, a truth value, or a text, quoted or not."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    for read in (int, float, date.fromisoformat, datetime.fromisoformat):
        with contextlib.suppress(ValueError):
            return read(text)
    return text.lower() == "true" if text.lower() in ("true", "false") else text


def _value(text: str) -> Any:
    """Return a truth value, a whole number, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number = int(text)
    except ValueError:
        return text
    return number if str(number) == text else text
