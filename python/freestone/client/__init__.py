"""What runs in the user's program: futures, tasks, files, and the client of a cluster's manager.

Surfaces such as `freestone.collections` and `freestone.graph` use a cluster through `Client` alone.

See docs/decisions/005-modules-are-plural-where-a-function-is-singular.md
"""

from freestone.client.files import File, file
from freestone.client.future import Future
from freestone.client.graphs import scheduler_of
from freestone.client.interface import Client, HasClient
from freestone.client.opened import current
from freestone.client.waiting import as_completed, gather, wait

__all__ = [
    "Client",
    "File",
    "Future",
    "HasClient",
    "as_completed",
    "current",
    "file",
    "gather",
    "scheduler_of",
    "wait",
]
