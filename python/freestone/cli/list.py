"""List the clusters of this machine that programs can connect to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from freestone.cli.clusters import row_of, running_clusters
from freestone.cli.output import Output, table

if TYPE_CHECKING:
    from freestone.observe.control import Reach
    from freestone.observe.figures import Statistics

__all__ = ["configure", "execute"]

HEAD = ["name", "pid", "up", "workers", "executors", "programs", "pending", "address"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Ask each cluster that has a name for its figures."""
    found = [one for one in running_clusters() if one.get("name") is not None]
    output.show(list(found), lambda: _text(found))
    return 0


def _text(found: list[Reach]) -> str:
    if not found:
        return "no cluster is served on this machine; start one with 'freestone serve'"
    return table(HEAD, [_row(cluster) for cluster in found])


def _row(cluster: Reach) -> list[object]:
    def columns(figures: Statistics) -> list[object]:
        programs = cluster["status"].get("programs", 0)
        sizes = [len(figures.workers), figures.slots, programs, figures.pending]
        return [*sizes, cluster["address"]]

    return row_of(cluster, cluster["name"], len(HEAD), columns)
