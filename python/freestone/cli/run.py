"""Run a script: in Python, with settings for the clusters that it opens, or in DaphneDSL."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable

from freestone.cli import hdfs, script
from freestone.cli.output import Output
from freestone.errors import ConfigurationError, FileError, FileMissingError

__all__ = ["configure", "execute"]

BAD_DEFAULTS = 1
"""What a script ends with whose ``--config`` is wrong, as with other errors that parsing finds."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a setting of freestone, such as executors=4 or trace=run.jsonl",
    )
    script.configure(parser)
    parser.add_argument("script", metavar="SCRIPT", help="a file in Python or DaphneDSL")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS", help="for the script")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Run the script, a Python file as ``__main__``, with its own ``sys.argv`` and folder.

    Returns
    -------
    int
        What it exits with.
    """
    if os.path.isdir(arguments.script):
        raise FileError(arguments.script, "is a folder; name a script in Python or DaphneDSL in it")
    if not os.path.isfile(arguments.script):
        raise FileMissingError(arguments.script)
    if arguments.script.endswith(script.SUFFIXES):
        try:
            defaults = script.defaults_of(arguments)
        except ConfigurationError as error:
            output.fail(error.slug, str(error))
            return BAD_DEFAULTS
        data = script.options_of(arguments, defaults)
        if data.get("distributed"):
            _apply(arguments.settings)
        return script.run_script(arguments, data)
    _apply(arguments.settings)
    hdfs.apply(
        enable=bool(arguments.enable_hdfs),
        address=arguments.hdfs_ip,
        user=arguments.hdfs_username,
    )
    begin = time.perf_counter()
    status = _run(arguments.script, arguments.args)
    seconds = time.perf_counter() - begin
    data = {"script": arguments.script, "status": status, "seconds": round(seconds, 6)}
    output.show(data, str)
    return status


def _apply(settings: Iterable[str]) -> None:
    from freestone.config import BY_OPTION, PREFIX, Config

    given = []
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            problem = f"--set {text} has no value; write --set NAME=VALUE"
            raise ConfigurationError(problem, key=name, origin="the command line")
        given.append(f"{PREFIX}{name.upper()}")
        os.environ[given[-1]] = value
    os.environ[BY_OPTION] = ",".join(given)
    Config.load()


def _run(script: str, words: list[str]) -> int:
    import runpy

    sys.argv = [script, *words]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return _status_of(end)
    return 0


def _status_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1
