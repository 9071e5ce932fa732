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
    from freestone.config import Config
    from freestone.hosts.folders import killed_clusters
    from freestone.observe.control import ask_all

    found = ask_all(one for one in running_clusters() if one.get("name") is not None)
    killed = killed_clusters(Config.load())
    listed = [*found, *({"name": name, "journal": str(killed[name])} for name in killed)]
    output.show(listed, lambda: _text(found, list(killed)))
    return 0


def _text(found: list[Reach], killed: list[str]) -> str:
    if not found and not killed:
        return "no cluster is served on this machine; start one with 'freestone serve'"
    lines = [table(HEAD, [_row(cluster) for cluster in found])] if found else []
    lines += [
        f"{name}  was killed; 'freestone serve --name {name}' goes on with it" for name in killed
    ]
    return "\n".join(lines)


def _row(cluster: Reach) -> list[object]:
    def columns(figures: Statistics) -> list[object]:
        programs = cluster["status"].get("programs", 0)
        sizes = [len(figures.workers), figures.slots, programs, figures.pending]
        return [*sizes, cluster["address"]]

    return row_of(cluster, cluster["name"], len(HEAD), columns)
