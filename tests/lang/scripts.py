"""Runs scripts in this process."""

import io
from collections.abc import Iterable
from typing import Any, TextIO

from freestone import Cluster
from freestone.errors.lang import ScriptError
from freestone.lang.front.parse.source import Source
from freestone.lang.run.distributed.running import DistributedRun
from freestone.lang.script import compile_source, read_arguments, run_text
from freestone.lang.settings import Settings


def printed(text: str, *arguments: str, **settings: Any) -> str:
    """Return what a script prints."""
    out = io.StringIO()
    run_text(text, arguments, Settings(**settings), out)
    return out.getvalue()


def outcome(text: str, **settings: Any) -> str:
    """Return what a script prints, and then what its error says."""
    out = io.StringIO()
    try:
        run_text(text, (), Settings(**settings), out)
    except ScriptError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def both(text: str, *arguments: str) -> str:
    """Return what a script prints, which has to be the same with and without pipelines."""
    plain = printed(text, *arguments)
    assert printed(text, *arguments, vec=True, num_threads=2) == plain
    return plain


def outcome_on(cluster: Cluster, text: str, **settings: Any) -> str:
    """Return what a script prints on a cluster, and then what its error says."""
    out = io.StringIO()
    try:
        _run_on(cluster, text, (), out, settings)
    except ScriptError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def printed_on(cluster: Cluster, text: str, *arguments: str, **settings: Any) -> str:
    """Return what a script prints whose matrices, however small, lie in a cluster's blocks."""
    out = io.StringIO()
    _run_on(cluster, text, arguments, out, settings)
    return out.getvalue()


def _run_on(
    cluster: Cluster, text: str, arguments: Iterable[str], out: TextIO, settings: dict[str, Any]
) -> None:
    chosen: dict[str, Any] = {"vec": True, "distributed_bytes": 0} | settings
    options = Settings(distributed=True, **chosen)
    program = compile_source(Source(text, "script"), read_arguments(arguments), options)
    DistributedRun(options, cluster.client, out).program(program)
