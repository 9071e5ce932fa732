"""Serve a cluster that outlives the programs that use it."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.cli.output import Output, silence
from freestone.errors import ClusterStartError, UsageError

if TYPE_CHECKING:
    from freestone import Cluster

__all__ = ["configure", "execute"]

HOSTS = ("dask", "mpi", "ray", "slurm")
# Names the pipe on which the process that serves says that programs can connect.
_READY, _IS_READY = "FREESTONE__READY", "ready"


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--name", help="by which programs find it; 'default' unless given")
    parser.add_argument("--workers", type=int, help="on this machine, or jobs of Slurm; 1")
    parser.add_argument("--executors", type=int, help="of each worker; the cores are shared out")
    parser.add_argument("--memory", help="of each worker's memory tier, such as 2GiB")
    parser.add_argument("--disk", help="of each worker's disk tier")
    parser.add_argument(
        "--listen", metavar="tcp://HOST:PORT", help="for other machines; port 0: any"
    )
    parser.add_argument("--cache", metavar="FOLDER", help="of blocks that are kept for ever")
    parser.add_argument(
        "--on", metavar="HOST", help=f"who starts the workers: {', '.join(HOSTS)}, or a plugin's"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="with --on dask: of its scheduler")
    parser.add_argument(
        "--journal", metavar="FOLDER", help="by which it goes on after its process was killed"
    )
    parser.add_argument("--no-journal", action="store_true", help="its end is that of all it knows")
    parser.add_argument(
        "--background", action="store_true", help="return once it runs; 'freestone stop' ends it"
    )
    parser.add_argument("options", nargs="*", help="with --on slurm: for sbatch, after --")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Serve until `freestone stop`, SIGTERM or Ctrl-C comes."""
    if arguments.background:
        return _start(arguments, output)
    # Workers find modules beside which the cluster was started, as those of a program do.
    sys.path.insert(0, os.getcwd())
    stop = threading.Event()
    _end_with_signals(stop)
    if arguments.on != "mpi":
        # Ranks would find the name taken by one another; the first of them asks for it later.
        _require_free(arguments.name or "default")
    journal = _journal(arguments)
    if journal is not None:
        os.environ["FREESTONE__JOURNAL"] = str(journal)
        # Before the cluster opens: to end it in order removes the journal that it takes up.
        _leave_with_sigterm()
    cluster = _opened(arguments)
    try:
        _serve(cluster, arguments.name or "default", stop, output)
    except BaseException:
        if journal is not None:
            # Only an end in order removes the journal: it and the workers are the next process's.
            atexit.register(os._exit, 1)
        else:
            cluster.close()
        raise
    cluster.close()
    return 0


def _serve(cluster: Cluster, name: str, stop: threading.Event, output: Output) -> None:
    """Let programs in until the cluster is to end."""
    cluster.share(name, stop=stop.set)
    try:
        output.show(_data(cluster), lambda: _text(cluster))
    except BrokenPipeError:
        # Who started it has gone, or has read what it wanted: no reason to end a cluster.
        silence()
    ready = os.environ.pop(_READY, None)
    if ready is not None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(int(ready), "w") as pipe:
            pipe.write(_IS_READY)
    stop.wait()


def _end_with_signals(stop: threading.Event) -> None:
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _require_free(name: str) -> None:
    """Refuse a name that a running cluster has, or that none can have."""
    from freestone.config import Config
    from freestone.hosts.folders import made_runtime_dir
    from freestone.hosts.naming import HeldName

    HeldName(made_runtime_dir(Config.load()), name).release()


def _leave_with_sigterm() -> None:
    """Have SIGTERM, as of systemd or a batch system, leave the rest to the next process."""
    import signal

    # At once: what is written is all that the next one needs, and workers and programs wait for it.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def _journal(arguments: argparse.Namespace) -> Path | None:
    """Return the folder of the cluster's journal, if it is to have one."""
    from freestone.config import Config
    from freestone.hosts.folders import journal_dir

    if arguments.no_journal:
        if arguments.journal is not None:
            raise UsageError(
                "--journal names a folder, and --no-journal wants none: give one of them"
            )
        return None
    if arguments.journal is not None:
        return Path(arguments.journal).resolve()
    return journal_dir(Config.load(), arguments.name or "default")


def _opened(arguments: argparse.Namespace) -> Cluster:
    from freestone import Cluster

    keys = ("workers", "executors", "memory", "disk", "listen", "cache")
    given: dict[str, Any] = {key: getattr(arguments, key) for key in keys}
    settings = {key: value for key, value in given.items() if value is not None}
    host = arguments.on
    if arguments.scheduler is not None and host != "dask":
        raise UsageError("--scheduler names that of Dask: it goes with --on dask")
    if arguments.options and host != "slurm":
        raise UsageError(f"{arguments.options[0]!r}: options after -- go with --on slurm")
    if host == "dask":
        from freestone.hosts.engine import require

        client = require("distributed", "Dask", "pip install distributed").Client
        return Cluster.on_dask(client(arguments.scheduler), **settings)
    if host == "slurm":
        workers = settings.pop("workers", 1)
        return Cluster.on_slurm(workers, options=arguments.options, **settings)
    if host == "mpi":
        return Cluster.on_mpi(**settings)
    if host == "ray":
        from freestone.hosts.engine import require

        require("ray", "Ray", "pip install ray").init(address="auto")
        return Cluster.on_ray(**settings)
    return Cluster(**settings) if host is None else Cluster.on(host, **settings)


def _data(cluster: Cluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "address": cluster.address,
        "access": cluster.access,
        "page": cluster.dashboard_link,
        "pid": os.getpid(),
    }


def _text(cluster: Cluster) -> str:
    lines = [f"cluster {cluster.name} is served at {cluster.address}"]
    lines.append(f'  in a program of this machine:  fs.connect("{cluster.name}")')
    if cluster.config.listen is not None:
        lines.append(f'  elsewhere, with a copy of it:  fs.connect("{cluster.access}")')
    if cluster.dashboard_link is not None:
        lines.append(f"  to watch it:                   {cluster.dashboard_link}")
    lines.append(f"  to end it:                     freestone stop {cluster.name}")
    return "\n".join(lines)


def _start(arguments: argparse.Namespace, output: Output) -> int:
    """Serve in a process of its own, and wait until programs can connect."""
    name = arguments.name or "default"
    # Before the log is emptied, which may be that of the cluster that has the name.
    _require_free(name)
    log = _log(name)
    reading, writing = os.pipe()
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "freestone", "serve", *_words(arguments)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
            pass_fds=[writing],
            env=os.environ | {_READY: str(writing)},
        )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        ready = pipe.read()
    text = log.read_text("utf-8", errors="replace").strip()
    if ready != _IS_READY:
        status = process.wait()
        raise ClusterStartError(f"the process that serves it ended with status {status}", log=text)
    data = {"name": name, "pid": process.pid, "log": str(log)}
    output.show(data, lambda: text)
    return 0


def _words(arguments: argparse.Namespace) -> list[str]:
    keys = ["name", "workers", "executors", "memory", "disk", "listen", "cache", "on"]
    words: list[str] = ["--no-journal"] if arguments.no_journal else []
    for key in [*keys, "scheduler", "journal"]:
        value = getattr(arguments, key)
        words += [] if value is None else [f"--{key}", str(value)]
    return [*words, "--", *arguments.options] if arguments.options else words


def _log(name: str) -> Path:
    """Return the file that holds what the process prints."""
    from freestone.config import Config
    from freestone.hosts.folders import runtime_dir

    return runtime_dir(Config.load()) / f"{name}.log"
