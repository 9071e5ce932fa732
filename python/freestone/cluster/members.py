"""The workers of a cluster: how many there are, who comes and who goes."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, SupportsIndex

from freestone import functions
from freestone.errors import ClosedError, ConfigurationError, UsageError, WorkersMissingError
from freestone.observe.workers import worker_number

if TYPE_CHECKING:
    from freestone.client.local import LocalClient
    from freestone.hosts.engine import Host
    from freestone.hosts.local import LocalWorkers
    from freestone.hosts.node import Node

__all__ = ["Members", "no_worker", "wait_for"]

# How long to wait until the manager is asked again: joining takes about as long.
_POLL_INTERVAL_S = 0.02


class Members:
    """Starts workers, waits for them and lets them go.

    Parameters
    ----------
    client
        Whose manager they join.
    site
        Those on this machine.
    host
        The engine that starts others, if there is one.
    """

    def __init__(self, client: LocalClient, site: LocalWorkers, host: Host | None) -> None:
        self._client, self._site, self._host = client, site, host
        self._resizing = threading.Lock()

    def start(self) -> None:
        """Start the workers of this machine and wait until they have joined."""
        self._site.start(self._client.address, self._joined, self._make_home, functions.preload)
        self._make_home(self._site.home)

    def start_host(self) -> None:
        """Have the engine start workers, if there is one."""
        if self._host is not None:
            self._host.start(self._site.access, self._client.config)
            self._site.wait_for_any(self._host, lambda: self._client.slots)
        self._warn_if_none_runs_calls(stacklevel=4)

    def _warn_if_none_runs_calls(self, stacklevel: int) -> None:
        """Say at once that calls will wait: later the program waits too and can't say it."""
        listens = self._client.config.listen is not None
        if self._host is None and not listens and not _running_calls(self._client):
            warnings.warn(
                "this cluster has no worker that runs calls, so they wait until one joins: open it "
                "with executors=1 or more, add workers with resize(), or start one with "
                "'freestone worker' and the file that cluster.access names",
                RuntimeWarning,
                stacklevel=stacklevel,
            )

    def retire(self, worker: int) -> None:
        """Let a worker go; see `Cluster.retire`."""
        self._client.require_open("retire a worker")
        with self._resizing:
            self._retire(worker)
        self._warn_if_none_runs_calls(stacklevel=4)

    def _retire(self, worker: int) -> None:
        folder = self._folder_of(worker)
        if folder is None:
            there = [one["worker"] for one in self._client.workers()]
            raise no_worker(worker, there, "to retire")
        self._require_another(worker, folder)
        self._site.let_go(folder)
        self._make_home(self._site.home)
        self._client.manager.retire([worker])

    def _require_another(self, worker: int, folder: str) -> None:
        """Refuse to let a worker go whose blocks nobody could take, or the program's last one."""
        if [node.memory_dir for node in self._site.present()] == [folder]:
            raise UsageError(
                f"worker-{worker} can't be retired: it is the only worker that this program has "
                "started, and keeps what the program puts; add another with resize(2) first, or "
                "end all with close()"
            )
        label = f"worker-{worker}"
        others = [one for one in self._client.workers() if one["worker"] != label]
        if all(one["leaving"] for one in others):
            raise UsageError(
                f"worker-{worker} can't be retired: no other worker is there now that could take "
                "its blocks; try again when one has joined"
            )

    def resize(self, workers: int) -> None:
        """Have so many workers on this machine; see `Cluster.resize`."""
        self._require_resizable(workers)
        with self._resizing:
            leaving = self._site.present()[max(workers, 1) :]
            self._let_nodes_go(leaving)
            if not leaving:
                self._site.grow(workers)
                self._client.manager.balance()

    def _require_resizable(self, workers: int) -> None:
        self._client.require_open("resize the cluster")
        if self._host is not None:
            problem = (
                f"the workers are started by {self._host.name}: let it start or end some, and they "
                "join or leave here; see also 'freestone factory'"
            )
            raise ConfigurationError(problem, key="workers", origin="resize")
        if not isinstance(workers, SupportsIndex):
            problem = f"the number of workers is an int, not {workers!r:.80}"
            raise ConfigurationError(problem, key="workers", origin="resize")
        if workers < 1:
            problem = f"a cluster has at least 1 worker, not {workers}; close() ends all"
            raise ConfigurationError(problem, key="workers", origin="resize")

    def _let_nodes_go(self, nodes: list[Node]) -> None:
        """Retire all at once, so that none hands over to another that leaves."""
        for node in nodes:
            self._site.let_go(node.memory_dir)
        numbers = [self._number_of(node) for node in nodes]
        self._client.manager.retire([number for number in numbers if number is not None])

    def wait_for(self, workers: int, timeout_s: float | None = None) -> None:
        """Wait until there are so many that run calls; see `Cluster.wait_for_workers`."""
        wait_for(self._client, workers, timeout_s)

    def _joined(self) -> list[str]:
        return [worker["folder"] for worker in self._client.workers()]

    def _folder_of(self, worker: int) -> str | None:
        label = f"worker-{worker}"
        workers = self._client.workers()
        return next((one["folder"] for one in workers if one["worker"] == label), None)

    def _number_of(self, node: Node) -> int | None:
        for worker in self._client.workers():
            if worker["folder"] == node.memory_dir:
                return worker_number(worker["worker"])
        return None

    def _make_home(self, node: Node) -> None:
        """Make the worker of a node the home of the program's own blocks, if it is the first."""
        number = self._number_of(node) if node is self._site.home else None
        if number is not None:
            memory, disk = (node.memory_dir, node.memory), (node.disk_dir, node.disk)
            self._client.set_home(number, memory, disk)


def wait_for(client: LocalClient, workers: int, timeout_s: float | None = None) -> None:
    """Wait until a cluster has so many workers that run calls."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while not client.closed:
        try:
            there = _running_calls(client)
        except RuntimeError:
            # It ends just now, and `closed` is about to say so.
            break
        if there >= workers:
            return
        if end is not None and time.monotonic() > end:
            raise WorkersMissingError(wanted=workers, there=there, timeout_s=timeout_s or 0.0)
        time.sleep(_POLL_INTERVAL_S)
    # A connection that was lost says so itself.
    client.require_open("wait for workers")
    raise ClosedError("wait for workers")


def no_worker(worker: str | int, there: list[str], purpose: str = "") -> UsageError:
    """Make the error for a worker that is not among those that there are."""
    what = f"{worker!r:.80} {purpose}".rstrip()
    return UsageError(f"there is no worker {what}; there are: {', '.join(there) or None}")


def _running_calls(client: LocalClient) -> int:
    """How many workers take calls."""
    workers = client.workers()
    return sum(worker["slots"] > 0 and not worker["leaving"] for worker in workers)
