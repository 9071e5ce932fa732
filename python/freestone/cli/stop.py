"""End a cluster that is served: its workers, and what was published in it."""

from __future__ import annotations

import argparse
import time

from freestone.cli.clusters import chosen_cluster, running_clusters
from freestone.cli.output import Output
from freestone.errors import UsageError

__all__ = ["configure", "execute"]

_POLL_INTERVAL_S = 0.02
_MAX_TIMEOUT_S = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("name", metavar="NAME", help="the cluster's; see 'freestone list'")
    parser.add_argument(
        "--timeout", type=float, default=30.0, metavar="S", help="how long to wait for its end"
    )


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Tell the process that serves it, and wait until the cluster is gone."""
    from freestone import _native
    from freestone.config import Config
    from freestone.hosts.folders import Folders, killed_clusters, runtime_dir
    from freestone.observe.control import ask

    killed = killed_clusters(Config.load()).get(arguments.name)
    # One that was killed may have left its name to one without a journal, which is ended first.
    runs = any(cluster.label == arguments.name for cluster in running_clusters())
    if killed is not None and not runs:
        # Its workers end when they have waited for long enough.
        Folders.take(runtime_dir(Config.load()), killed).remove()
        _native.folders.OwnedFolder.take(str(killed)).remove()
        output.show({"name": arguments.name}, lambda: f"{arguments.name} is given up")
        return 0
    if not 0 <= arguments.timeout <= _MAX_TIMEOUT_S:
        raise UsageError(
            f"--timeout {arguments.timeout:g}: give seconds, from 0 to {_MAX_TIMEOUT_S:,}"
        )
    cluster = chosen_cluster(arguments.name)
    folder = str(cluster["folder"])
    deadline = time.monotonic() + arguments.timeout
    late = f"{cluster.label} has not ended within {arguments.timeout:g} s"
    try:
        answer = ask(folder, {"ask": "stop"}, arguments.timeout)
    except TimeoutError:
        problem = f"{late}, and its process with pid {cluster['pid']} does not answer"
        raise UsageError(f"{problem}: it is busy, or stopped") from None
    if not answer["stopping"]:
        problem = f"{cluster.label} is part of the program with pid {cluster['pid']}, not served"
        raise UsageError(f"{problem}; it ends with that program, or when that closes it")
    while _native.folders.is_folder_in_use(folder):
        if time.monotonic() > deadline:
            raise UsageError(f"{late}; its process has pid {cluster['pid']}")
        time.sleep(_POLL_INTERVAL_S)
    output.show({"name": cluster.label}, lambda: f"{cluster.label} has ended")
    return 0
