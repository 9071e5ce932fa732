"""Show the clusters that run on this machine."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from freestone.cli.output import Output, table

if TYPE_CHECKING:
    from freestone.observe.control import Reach

__all__ = ["configure", "execute"]

HEAD = ["cluster", "pid", "up", "workers", "executors", "running", "pending", "done", "failed"]
HEAD += ["memory", "disk"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="only this one: its address, folder or id"
    )


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Ask each cluster for its figures."""
    from freestone.config import Config
    from freestone.hosts.folders import runtime_dir
    from freestone.observe.control import find, only

    found = find(runtime_dir(Config.load()))
    if arguments.cluster is not None:
        found = [only(found, arguments.cluster)]
    output.show(list(found), lambda: _text(found))
    return 0


def _text(found: list[Reach]) -> str:
    if not found:
        return "no cluster runs on this machine"
    return table(HEAD, [_row(cluster) for cluster in found])


def _row(cluster: Reach) -> list[object]:
    from freestone.observe.figures import Statistics
    from freestone.units import format_nbytes, format_seconds

    up = format_seconds(round(time.time() - float(cluster.get("started", time.time()))))
    first = [cluster.id, cluster["pid"], up]
    if "status" not in cluster:
        return [*first, *"-" * 7, cluster["error"]]
    figures = Statistics.from_dict(cluster["status"]["statistics"])
    states = [worker.status for worker in figures.workers]
    return [
        *first,
        len(figures.workers),
        figures.slots,
        sum(state.running for state in states),
        figures.pending,
        figures.done,
        figures.failed,
        format_nbytes(sum(state.memory_nbytes for state in states)),
        format_nbytes(sum(state.disk_nbytes for state in states)),
    ]
