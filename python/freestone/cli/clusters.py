"""The clusters of this machine, as commands find and show them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freestone.observe.control import Reach
    from freestone.observe.figures import Statistics

__all__ = ["chosen_cluster", "row_of", "running_clusters"]


def running_clusters() -> list[Reach]:
    """Return the clusters that run on this machine."""
    from freestone.config import Config
    from freestone.hosts.folders import runtime_dir
    from freestone.observe.control import find

    return find(runtime_dir(Config.load()))


def chosen_cluster(wanted: str | None) -> Reach:
    """Return the running cluster of a name, address, folder or id; by default the only one.

    Raises
    ------
    UsageError
        When there is none, or several.
    """
    from freestone.config import Config
    from freestone.errors import UsageError
    from freestone.hosts.folders import killed_clusters
    from freestone.observe.control import only

    running = running_clusters()
    is_killed = wanted is not None and wanted in killed_clusters(Config.load())
    if is_killed and all(cluster.label != wanted for cluster in running):
        cure = f"'freestone serve --name {wanted}' goes on with it"
        raise UsageError(f"the process that served {wanted!r} was killed; {cure}")
    return only(running, wanted)


def row_of(
    cluster: Reach, name: str, width: int, columns: Callable[[Statistics], list[object]]
) -> list[object]:
    """Return a row of a table of clusters.

    Parameters
    ----------
    cluster
        Which one.
    name
        What it is called there.
    width
        How many columns the table has: name, process, how long it has run, and others.
    columns
        Makes the others of its figures; without these the last one says why.
    """
    from freestone.observe.figures import Statistics
    from freestone.units import format_seconds

    up = format_seconds(round(time.time() - float(cluster.get("started", time.time()))))
    first: list[object] = [name, cluster["pid"], up]
    if "status" not in cluster:
        return [*first, *"-" * (width - len(first) - 1), cluster["error"]]
    return [*first, *columns(Statistics.from_dict(cluster["status"]["statistics"]))]
