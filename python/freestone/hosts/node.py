"""What a worker on this machine has: its share of the machine, and its words.

See docs/decisions/030-executors-compute-with-one-thread.md
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from freestone.config import Config
from freestone.errors import StorageFullError
from freestone.hosts.folders import Folders

__all__ = [
    "Node",
    "hostname",
    "libraries",
    "node",
    "python_path",
    "worker_words",
]


def hostname() -> str:
    """Return the name by which other machines may find this one."""
    return socket.gethostname()


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, slots=True)
class Node:
    """What one worker on this machine has.

    Attributes
    ----------
    executors : int
        Its executors, which is also how many cores it has; with none it only keeps blocks.
    ram : int
        Bytes of memory that its calls may take together.
    memory, disk : int
        Bytes of its cache's tiers.
    gpus : int
        Its graphics processors.
    resources : str
        Its custom resources: ``name=amount,...``.
    """

    name: str
    memory_dir: str
    disk_dir: str
    executors: int
    ram: int
    memory: int
    disk: int
    gpus: int
    resources: str = ""


def node(
    config: Config, folders: Folders, name: str, workers: int = 1, besides: Sequence[Node] = ()
) -> Node:
    """Share out what the machine has.

    Parameters
    ----------
    config
        What the user wants of it.
    folders
        Those of the cluster, or of the worker if it joined by itself.
    name
        Tells the node's folders from those of others of the cluster.
    workers
        How many nodes share the machine.
    besides
        Those that are there already. The new one gets at most half of what they leave.
    """
    cores = len(os.sched_getaffinity(0))
    room = shutil.disk_usage(folders.memory)
    memory = config.memory or _share(
        min(_machine_memory(), room.free), workers, sum(one.memory for one in besides)
    )
    disk = config.disk
    if disk is None:
        free = shutil.disk_usage(folders.path).free
        disk = _share(free, workers, sum(one.disk for one in besides))
    if memory > room.total:
        raise StorageFullError(needed=memory, free=room.free, folder=str(folders.memory.parent))
    return Node(
        name=name,
        memory_dir=str(folders.memory / name),
        disk_dir=str(folders.path / f"disk-{name}"),
        executors=max(1, cores // workers) if config.executors is None else config.executors,
        ram=_machine_memory() // workers,
        memory=memory,
        disk=disk,
        gpus=config.gpus or 0,
        resources=config.resources,
    )


def _share(room: int, workers: int, promised: int) -> int:
    """Half of what there is goes to workers, and never more than half of what is not promised."""
    return min(room // 2 // workers, max(room - promised, 0) // 2)


def worker_words(
    config: Config, node: Node, manager: str, access: Path, folder: Path, listen: str | None = None
) -> list[str]:
    """Return the words after `freestone worker` for a worker of this machine."""
    settings = {
        "manager": manager,
        "access": access,
        "listen": listen,
        "reconnect-s": config.reconnect_s,
        "folder": folder,
        "executors": node.executors,
        "ram": node.ram,
        "memory": node.memory,
        "disk": node.disk,
        "gpus": node.gpus,
        "resources": node.resources or None,
        "memory-dir": node.memory_dir,
        "disk-dir": node.disk_dir,
        "cache": config.cache,
        "transfers-in": config.transfers_in,
        "transfers-out": config.transfers_out,
        "scrub-nbytes-s": config.scrub_nbytes_s,
        "links": int(config.links),
        "stopped-s": config.stopped_s,
        "spin-us": int(config.spin_us),
        "inline-nbytes": config.inline_nbytes,
        "preload": config.preload or None,
        "profile": config.profile or None,
    }
    given = {key: value for key, value in settings.items() if value is not None}
    return [word for key, value in given.items() for word in (f"--{key}", str(value))]


def python_path(besides: Sequence[str] = ()) -> dict[str, str]:
    """Return the variable by which executors find the modules that this process finds.

    Parameters
    ----------
    besides
        Further folders, of which those count that are here.
    """
    more = [folder for folder in besides if folder not in sys.path and os.path.isdir(folder)]
    return {"FREESTONE__PYTHON_PATH": json.dumps([*sys.path, *more])}


_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


_POLARS_MEMORY = "background_thread:true,dirty_decay_ms:10000,muzzy_decay_ms:-1,thp:always"


def libraries(executors: int) -> dict[str, str]:
    """Return variables by which libraries share the machine with other executors.

    Two matrix products with as many threads as there are cores each wait for one another: seen ten
    times slower than with a thread each. polars gives memory back after half a second, and the next
    call has the system clear the same pages again: a tenth to a quarter of the time of groups and
    joins of millions of rows. So its allocator keeps pages for ten seconds, and takes large ones.
    What the user has set is to be left as it is.
    """
    share = str(max(1, len(os.sched_getaffinity(0)) // max(1, executors)))
    return dict.fromkeys(_THREADS, share) | {"_RJEM_MALLOC_CONF": _POLARS_MEMORY}
