"""List the clusters of this machine that programs can connect to."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from freestone.cli.output import Output, table

if TYPE_CHECKING:
    from freestone.observe.control import Reach

__all__ = ["configure", "execute"]

HEAD = ["name", "pid", "up", "workers", "executors", "programs", "pending", "address"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Ask each cluster that has a name for its figures."""
    from freestone.config import Config
    from freestone.hosts.folders import runtime_dir
    from freestone.observe.control import find

    found = [one for one in find(runtime_dir(Config.load())) if one.get("name") is not None]
    output.show(list(found), lambda: _text(found))
    return 0


def _text(found: list[Reach]) -> str:
    if not found:
        return "no cluster is served on this machine; start one with 'freestone serve'"
    return table(HEAD, [_row(cluster) for cluster in found])


def _row(cluster: Reach) -> list[object]:
    from freestone.observe.figures import Statistics
    from freestone.units import format_seconds

    up = format_seconds(round(time.time() - float(cluster.get("started", time.time()))))
    first = [cluster["name"], cluster["pid"], up]
    if "status" not in cluster:
        return [*first, *"-" * 4, cluster["error"]]
    figures = Statistics.from_dict(cluster["status"]["statistics"])
    programs = cluster["status"].get("programs", 0)
    sizes = [len(figures.workers), figures.slots, programs, figures.pending]
    return [*first, *sizes, cluster["address"]]
