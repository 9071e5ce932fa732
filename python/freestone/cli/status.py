"""Show the clusters that run on this machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from freestone.cli.clusters import chosen_cluster, row_of, running_clusters
from freestone.cli.output import Output, table

if TYPE_CHECKING:
    from freestone.observe.control import Reach
    from freestone.observe.figures import Statistics

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
    from freestone.observe.control import ask_all

    wanted = arguments.cluster
    found = ask_all(running_clusters() if wanted is None else [chosen_cluster(wanted)])
    output.show(list(found), lambda: _text(found))
    return 0


def _text(found: list[Reach]) -> str:
    if not found:
        return "no cluster runs on this machine"
    return table(HEAD, [row_of(one, one.id, len(HEAD), _columns) for one in found])


def _columns(figures: Statistics) -> list[object]:
    from freestone.units import format_nbytes

    states = [worker.status for worker in figures.workers]
    return [
        len(figures.workers),
        figures.slots,
        sum(state.running for state in states),
        figures.pending,
        figures.done,
        figures.failed,
        format_nbytes(sum(state.memory_nbytes for state in states)),
        format_nbytes(sum(state.disk_nbytes for state in states)),
    ]
