"""One runtime for data-intensive Python, from a laptop to a cluster.

Data lives in the cluster as immutable named blocks; work moves to where the blocks are.

    import freestone as fs

    @fs.task
    def mass(block): ...

    with fs.Cluster() as cluster:
        parts = [mass(fs.file(path)) for path in paths]
        print(fs.reduce(add, parts, commutes=True).result())
"""

from __future__ import annotations

import os
from importlib import import_module

# As in `typing`, whose import takes longer than that of this module.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from freestone import graph
    from freestone._native import __version__
    from freestone.client.environments import prepare, untar
    from freestone.client.files import File, file
    from freestone.client.future import Future
    from freestone.client.reduction import reduce
    from freestone.client.tasks import Task, task
    from freestone.cluster import Cluster, as_completed, connect, current, performance_report, wait
    from freestone.collections import Array, Bag, Frame
    from freestone.collections.querying import sql
    from freestone.errors import FreestoneError
    from freestone.partitions import Partition, split
    from freestone.storage import read, write

__all__ = [
    "Array",
    "Bag",
    "Cluster",
    "File",
    "Frame",
    "FreestoneError",
    "Future",
    "Partition",
    "Task",
    "__version__",
    "as_completed",
    "connect",
    "current",
    "file",
    "graph",
    "performance_report",
    "prepare",
    "read",
    "reduce",
    "split",
    "sql",
    "task",
    "untar",
    "wait",
    "write",
]

# Loaded when they are first used: a command line that only prints a figure starts at once.
_HOMES = {
    "__version__": "_native",
    "Array": "collections",
    "Bag": "collections",
    "Cluster": "cluster",
    "File": "client.files",
    "Frame": "collections",
    "FreestoneError": "errors",
    "Future": "client.future",
    "Partition": "partitions",
    "Task": "client.tasks",
    "as_completed": "cluster",
    "connect": "cluster",
    "current": "cluster",
    "file": "client.files",
    "performance_report": "cluster",
    "prepare": "client.environments",
    "read": "storage",
    "reduce": "client.reduction",
    "split": "partitions",
    "sql": "collections.querying",
    "task": "client.tasks",
    "untar": "client.environments",
    "wait": "cluster",
    "write": "storage",
}


_MODULES = ("errors", "events", "graph", "malleable")
# What gives a class more methods.
_ABOVE = {"collections": ("lang.arrays",), "storage": ("lang.arrays",)}


def _is_module(name: str) -> bool:
    """Whether ``from freestone import name`` is about to import a module, having asked for a name.

    A hint would load all errors, in each process that imports `freestone._native`.
    """
    stem = os.path.join(__path__[0], name)
    return name.startswith("_") or os.path.isdir(stem) or os.path.isfile(f"{stem}.py")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"freestone.{name}")
    if name == "load_ipython_extension":  # What %load_ext freestone looks for.
        return import_module("freestone.cluster.magic").load_ipython_extension
    if name not in _HOMES:
        if _is_module(name):
            raise AttributeError(f"module 'freestone' has no attribute {name!r}", name=name)
        from freestone.errors.base import did_you_mean
        from freestone.errors.habits import OF_MODULE

        hint = f"; {OF_MODULE[name]}" if name in OF_MODULE else did_you_mean(name, __all__)
        raise AttributeError(f"module 'freestone' has no attribute {name!r}{hint}", name=name)
    home = import_module(f"freestone.{_HOMES[name]}")
    for surface in _ABOVE.get(_HOMES[name], ()):
        import_module(f"freestone.{surface}")
    for public, module in _HOMES.items():
        if module == _HOMES[name]:
            globals()[public] = getattr(home, public)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
