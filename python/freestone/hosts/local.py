"""Workers on this machine, as processes of their own."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from freestone.config import Config
from freestone.errors import ClusterStartError, StorageFullError
from freestone.hosts.access import Access
from freestone.hosts.engine import Host
from freestone.observe.control import ControlServer

__all__ = [
    "Node",
    "Site",
    "node",
    "own_folder",
    "python_path",
    "runtime_dir",
    "threads",
    "worker_words",
]

_SHARED_MEMORY = Path("/dev/shm")
# A worker that was told to leave gets this long before it is killed.
_FAREWELL_S = 1.0


def runtime_dir(config: Config | None = None) -> Path:
    """Return the folder in which each cluster of this user has a folder of its own."""
    if config is not None and config.folder is not None:
        return Path(config.folder)
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"freestone-{os.getuid()}"


def _private(path: Path) -> Path:
    """Make a folder that only this user may enter, or refuse one that others may."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    stat = path.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o077:
        raise ClusterStartError(f"{path} must belong to you alone: chmod 700 it, or set folder=")
    return path


def own_folder(config: Config) -> Path:
    """Make a folder for a cluster or a worker of this process; those of dead ones are swept."""
    base = _private(runtime_dir(config))
    sweep(base)
    return _private(base / f"{os.getpid()}-{secrets.token_hex(4)}")


def _memory_dir() -> Path:
    if _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK):
        return _SHARED_MEMORY / f"freestone-{os.getuid()}"
    return runtime_dir()


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
    """

    name: str
    memory_dir: str
    disk_dir: str
    executors: int
    ram: int
    memory: int
    disk: int
    gpus: int


def node(config: Config, folder: Path, name: str, workers: int = 1) -> Node:
    """Share out what the machine has.

    Parameters
    ----------
    config
        What the user wants of it.
    folder
        The cluster's.
    name
        Tells the node's folders from those of others of the cluster.
    workers
        How many nodes share the machine.
    """
    cores = len(os.sched_getaffinity(0))
    memory_dir = _private(_memory_dir()) / folder.name
    room = shutil.disk_usage(memory_dir.parent)
    memory = config.memory or min(_machine_memory() // 2, room.free // 2) // workers
    disk = (
        config.disk if config.disk is not None else shutil.disk_usage(folder).free // 2 // workers
    )
    if memory > room.total:
        raise StorageFullError(needed=memory, free=room.free, folder=str(memory_dir.parent))
    return Node(
        name=name,
        memory_dir=str(memory_dir / name),
        disk_dir=str(folder / f"disk-{name}"),
        executors=max(1, cores // workers) if config.executors is None else config.executors,
        ram=_machine_memory() // workers,
        memory=memory,
        disk=disk,
        gpus=config.gpus or 0,
    )


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
        "memory-dir": node.memory_dir,
        "disk-dir": node.disk_dir,
        "cache": config.cache,
        "transfers-in": config.transfers_in,
        "transfers-out": config.transfers_out,
        "links": int(config.links),
        "spin-us": int(config.spin_us),
        "inline-nbytes": config.inline_nbytes,
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


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def threads(executors: int) -> dict[str, str]:
    """Share out the cores among the threads that libraries start in each executor.

    Two matrix products with as many threads as there are cores each wait for one another: seen ten
    times slower than with a thread each. What the user has set is to be left as it is.
    """
    share = str(max(1, len(os.sched_getaffinity(0)) // max(1, executors)))
    return dict.fromkeys(_THREADS, share)


@dataclass(slots=True)
class Site:
    """The folder, the key and the workers of a cluster on this machine.

    A worker that dies is started again, with an empty cache.
    """

    config: Config
    folder: Path
    access: Access
    nodes: list[Node]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    control: ControlServer | None = None
    closing: threading.Event = field(default_factory=threading.Event)
    retired: set[str] = field(default_factory=set)
    starting: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def create(cls, config: Config) -> Site:
        """Make the folder, and sweep those whose clusters died."""
        folder = own_folder(config)
        workers = config.workers or 1
        nodes = [node(config, folder, str(number), workers) for number in range(workers)]
        access = Access.make(None if config.listen is None else config.access_days)
        return cls(config, folder, access, nodes)

    @property
    def socket(self) -> str:
        """Where workers join."""
        return str(self.folder / "manager.sock")

    @property
    def home(self) -> Node:
        """The worker whose cache the program shares: the first that was not let go."""
        there = (node for node in self.nodes if node.memory_dir not in self.retired)
        return next(there, self.nodes[0])

    @property
    def listening(self) -> tuple[str, str, tuple[str, str]] | None:
        """Where the manager listens for other machines: a place, its host, and the certificate."""
        if self.config.listen is None or self.access.identity is None:
            return None
        place = self.config.listen.removeprefix("tcp://")
        return place, hostname(), self.access.identity

    @property
    def listen(self) -> str | None:
        """The interface at which workers listen for peers of other machines."""
        return None if self.listening is None else self.listening[0].rpartition(":")[0].strip("[]")

    def start(
        self, address: str, joined: Callable[[], list[str]], replaced: Callable[[Node], None]
    ) -> None:
        """Start the workers and wait until all have joined.

        Parameters
        ----------
        address
            Where the manager listens.
        joined
            Tells the cache folders of the workers that have joined.
        replaced
            Called, on a thread, after a worker that died was started again.
        """
        self.access = self.access.at(address)
        self.access.write(self.access_file)
        for node in self.nodes:
            # One after another, so that their numbers are those of their nodes.
            self.processes[node.name] = self._start(node)
            self._wait_for(node, joined)
        for node in self.nodes:
            threading.Thread(
                target=self._watch,
                args=(node, joined, replaced),
                name=f"freestone-node-{node.name}",
                daemon=True,
            ).start()

    def wait_for_any(self, host: Host, slots: Callable[[], int]) -> None:
        """Wait for the first worker of an engine, if one is sure to come."""
        deadline = time.monotonic() + self.config.start_timeout_s
        while host.joining() and not slots():
            if time.monotonic() > deadline:
                raise ClusterStartError(
                    f"none of the {host.joining()} workers of {host.name} has joined at "
                    f"{self.access.address} within {self.config.start_timeout_s} s; look at what "
                    "they printed, try listen= with an address that they reach, or raise "
                    "start_timeout_s"
                )
            time.sleep(0.01)

    def let_go(self, memory_dir: str) -> None:
        """Do not start the worker with this cache again when it has ended."""
        self.retired.add(memory_dir)

    def _wait_for(self, node: Node, joined: Callable[[], list[str]]) -> None:
        deadline = time.monotonic() + self.config.start_timeout_s
        while node.memory_dir not in joined():
            self._check(node, deadline)
            time.sleep(0.001)

    def _watch(
        self, node: Node, joined: Callable[[], list[str]], replaced: Callable[[Node], None]
    ) -> None:
        for restarts in itertools.count(1):
            self.processes[node.name].wait()
            # One that dies again and again waits longer and longer.
            if self.closing.wait(min(0.01 * 2**restarts, 30.0)):
                return
            with self.starting:
                if self.closing.is_set() or node.memory_dir in self.retired:
                    return
                self.processes[node.name] = self._start(node)
            # It died at once, or the manager was closed meanwhile: the next round sees which.
            with contextlib.suppress(ClusterStartError, RuntimeError):
                self._wait_for(node, joined)
                replaced(node)

    @property
    def access_file(self) -> Path:
        """The file with which workers join."""
        return self.folder / "access.json"

    def _start(self, node: Node) -> subprocess.Popen[bytes]:
        words = worker_words(
            self.config, node, f"unix:{self.socket}", self.access_file, self.folder, self.listen
        )
        return subprocess.Popen(
            [sys.executable, "-m", "freestone.worker", *words],
            stdin=subprocess.DEVNULL,
            env=threads(sum(node.executors for node in self.nodes)) | os.environ | python_path(),
            process_group=0,
        )

    def _check(self, node: Node, deadline: float) -> None:
        status = self.processes[node.name].poll()
        if status is not None:
            raise ClusterStartError(
                f"worker {node.name} ended with status {status} before it had joined; "
                "what it printed says why"
            )
        if time.monotonic() > deadline:
            raise ClusterStartError(
                f"the workers did not join within {self.config.start_timeout_s} s; "
                "raise start_timeout_s on a slow machine"
            )

    def serve(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Tell `freestone status` of this cluster."""
        about = {"pid": os.getpid(), "started": time.time(), "socket": self.socket}
        about["address"] = self.access.address
        (self.folder / "cluster.json").write_text(json.dumps(about))
        self.control = ControlServer(self.folder, answer)

    def forget(self) -> None:
        """Let go, in a child of the program, of connections that keep workers alive."""
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                connection = socket.socket(fileno=int(name))
                if self._is_end_of(connection.getsockname()):
                    connection.close()
                else:
                    connection.detach()

    def _is_end_of(self, name: str | tuple[Any, ...]) -> bool:
        """Whether a connection of this name is one of the manager's."""
        if isinstance(name, str):
            return name == self.socket
        address = self.access.address
        return address.startswith("tcp:") and str(name[1]) == address.rpartition(":")[2]

    def close(self) -> None:
        """Wait for the workers, kill those that stay, remove what they left."""
        with self.starting:
            self.closing.set()
        if self.control is not None:
            self.control.close()
        deadline = time.monotonic() + _FAREWELL_S
        for process in list(self.processes.values()):
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _remove(self.folder, Path(self.home.memory_dir).parent)


def _remove(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(base: Path) -> None:
    """Remove what clusters left whose processes were killed."""
    for root in {base, _memory_dir()}:
        if not root.is_dir():
            continue
        for folder in root.iterdir():
            pid = folder.name.partition("-")[0]
            if pid.isdigit() and not _is_alive(int(pid)):
                _remove(folder)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
