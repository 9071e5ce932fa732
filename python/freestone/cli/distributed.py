"""``freestone run --distributed``: the cluster that a script runs on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.cli import running
from freestone.cli.clusters import chosen_cluster
from freestone.errors import ConfigurationError
from freestone.errors.base import did_you_mean

if TYPE_CHECKING:
    from freestone import Cluster
    from freestone.lang.settings import Settings

__all__ = ["run_script"]

HOSTS = ("mpi", "dask", "slurm")
ANSWER_S = 10
BACKENDS = ("MPI", "sync-gRPC", "async-gRPC")


def run_script(arguments: argparse.Namespace, settings: Settings) -> int:
    """Run a script on the cluster that the options name, or on one of its own."""
    host = _host(arguments)
    if arguments.cluster is not None and host != "dask":
        if host is not None:
            problem = f"--cluster names a cluster that runs; it goes with --host=dask, not {host}"
            raise ConfigurationError(problem, key="cluster", origin="the options")
        if arguments.json:
            problem = (
                "--json has the values that this process prints, and --cluster runs the script in "
                "another one"
            )
            raise ConfigurationError(problem, key="json", origin="the options")
        return _run_there(arguments, settings)
    from freestone.lang.run.distributed.running import DistributedRun

    with _opened(host, arguments.cluster) as cluster:
        return running.run_with(DistributedRun(settings, cluster.client), arguments)


def _host(arguments: argparse.Namespace) -> str | None:
    backend = arguments.dist_backend
    _check("dist_backend", backend, BACKENDS)
    if arguments.host not in HOSTS:
        _check("host", arguments.host, (*HOSTS, *_hosts_of_others()))
    return arguments.host or ("mpi" if backend == "MPI" else None)


def _hosts_of_others() -> list[str]:
    from freestone import plugins
    from freestone.hosts.engine import GROUP

    return plugins.names(GROUP)


def _check(key: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        problem = f"--{key}={value}: there are {', '.join(known)}{did_you_mean(value, known)}"
        raise ConfigurationError(problem, key=key, origin="the options")


@contextmanager
def _opened(host: str | None, address: str | None) -> Iterator[Cluster]:
    from freestone import Cluster
    from freestone.config import Config

    if host == "dask":
        with _client(address) as client, Cluster.on_dask(client) as cluster:
            yield cluster
        return
    if host == "mpi":
        opened = Cluster.on_mpi()
    elif host == "slurm":
        opened = Cluster.on_slurm(Config.load().workers or 1)
    elif host is not None:
        opened = Cluster.on(host)
    else:
        opened = Cluster()
    with opened as cluster:
        yield cluster


def _client(address: str | None) -> Any:
    """Connect to the scheduler at an address, or start one with workers here."""
    from freestone.errors import EngineMissingError
    from freestone.hosts.engine import require

    dask = require("distributed", "Dask", "pip install distributed")
    try:
        if address is None:
            return dask.Client(dashboard_address=None)
        return dask.Client(address, timeout=ANSWER_S)
    except (OSError, ValueError) as error:
        missing = f"no scheduler answers at {address} ({error})"
        cure = "start one: dask scheduler, and dask worker"
        raise EngineMissingError(engine="Dask", missing=missing, cure=cure) from None


def _run_there(arguments: argparse.Namespace, settings: Settings) -> int:
    """Have a cluster of another program run the script, and print what it prints."""
    from freestone.errors.lang import ScriptError
    from freestone.lang.front.parse.source import read_source
    from freestone.lang.serving import encoded_settings

    _tell_there(settings)
    folder = chosen_cluster(arguments.cluster)["folder"]
    path = Path(arguments.script)
    try:
        text = read_source(path, arguments.script).text
    except ScriptError as error:
        print(running.message(error))
        return error.status
    question = {
        "ask": "script",
        "script": text,
        "file": str(path.resolve()),
        "arguments": running.words_of(arguments),
        "settings": encoded_settings(settings),
    }
    job = _asked(folder, question)["job"]
    while True:
        found = _asked(folder, {"ask": "script-output", "job": job})
        sys.stdout.write(found["text"])
        sys.stdout.flush()
        sys.stderr.write(found["errors"])
        if found["status"] is not None:
            if settings.statistics:
                print(running.statistics(found["times"]), file=sys.stderr)
            return _ended(found)


def _asked(folder: str, question: dict[str, Any]) -> dict[str, Any]:
    from freestone.errors import UsageError
    from freestone.observe import control

    try:
        return control.ask(folder, question)
    except OSError as error:
        problem = f"the program whose cluster runs the script does not answer any more: {error}"
        raise UsageError(problem) from None


def _tell_there(settings: Settings) -> None:
    """Refuse what would be told on another program's standard error."""
    wanted = {
        "explain": settings.explain,
        "timing": settings.timing,
        "enable-profiling": settings.profiling,
        "enable-property-recording": settings.record,
    }
    for key, value in wanted.items():
        if value:
            problem = f"--{key} tells of this process, and --cluster runs the script in another one"
            raise ConfigurationError(problem, key=key, origin="the options")


def _ended(found: dict[str, Any]) -> int:
    from freestone.errors.lang import ScriptCompileError, ScriptRunError, ScriptSyntaxError

    if found["failure"] is not None:
        problem, text = found["failure"]
        kinds = {1: ScriptSyntaxError, 2: ScriptCompileError, 3: ScriptRunError}
        kind = kinds[found["status"]]
        # Files are named as they were on the command line.
        text = text.replace(os.getcwd() + os.sep, "")
        print(running.message(kind(text, problem=problem, file=None, line=None, column=None)))
    return int(found["status"])
