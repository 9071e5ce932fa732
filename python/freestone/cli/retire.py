"""Let a worker of a running cluster go: its calls end, and what only it holds is handed over."""

from __future__ import annotations

import argparse

from freestone.cli.clusters import chosen_cluster
from freestone.cli.output import Output
from freestone.errors import UsageError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--cluster", metavar="ADDRESS", help="its address, folder or id")
    parser.add_argument("worker", metavar="WORKER", help="such as worker-3; see statistics()")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Tell the cluster, and do not wait for the worker's end."""
    from freestone.observe.control import ask
    from freestone.observe.workers import worker_number

    cluster = chosen_cluster(arguments.cluster)
    workers = ask(cluster["folder"], {"ask": "status"})["statistics"]["workers"]
    names = [str(worker["worker"]) for worker in workers]
    wanted = f"worker-{arguments.worker.removeprefix('worker-')}"
    if wanted not in names:
        there = ", ".join(names)
        raise UsageError(f"the cluster has no {arguments.worker!r}; there are: {there}")
    ask(cluster["folder"], {"ask": "retire", "worker": worker_number(wanted)})
    output.show({"worker": wanted}, lambda: f"{wanted} is let go")
    return 0
