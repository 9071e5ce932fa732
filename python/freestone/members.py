"""The workers of a cluster: how many there are, who comes and who goes."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from freestone.errors import ClosedError, ConfigurationError, UsageError, WorkersMissingError

if TYPE_CHECKING:
    from freestone import _native, hosts
    from freestone.config import Config
    from freestone.hosts.node import Node

__all__ = ["Members"]

# How long to wait until the manager is asked again: joining takes about as long.
_LOOK_S = 0.02


class Members:
    """What a cluster can be told of its workers."""

    if TYPE_CHECKING:
        _manager: _native.Manager
        _site: hosts.local.Site
        _host: hosts.Host | None
        _resizing: threading.Lock
        _home: int | None
        closed: bool
        config: Config
        slots: int

    def retire(self, worker: int) -> None:
        """Let a worker go: its calls end, and what only it holds is handed over first.

        Parameters
        ----------
        worker
            Its number: 3 for ``worker-3``.

        Raises
        ------
        UsageError
            When there is no such worker.
        ClosedError
            When the cluster is closed.

        Warns
        -----
        RuntimeWarning
            When no other worker runs calls and none can join from elsewhere.
        """
        if self.closed:
            raise ClosedError("retire a worker")
        folder = self._folder_of(worker)
        if folder is None:
            there = ", ".join(one["worker"] for one in self._workers())
            raise UsageError(f"there is no worker {worker!r} to retire; there are: {there or None}")
        self._site.let_go(folder)
        self._settle_at(self._site.home)
        self._manager.retire([worker])
        self._warn_if_none_runs_calls(stacklevel=3)

    def _start_host(self) -> None:
        """Have the engine start workers, if there is one."""
        if self._host is not None:
            self._host.start(self._site.access, self.config)
            self._site.wait_for_any(self._host, lambda: self.slots)
        self._warn_if_none_runs_calls(stacklevel=4)

    def _warn_if_none_runs_calls(self, stacklevel: int) -> None:
        """Say at once that calls will wait: later the program waits too and can't say it."""
        if self._host is None and self.config.listen is None and not self._running_calls():
            warnings.warn(
                "this cluster has no worker that runs calls, so they wait until one joins: open it "
                "with executors=1 or more, add workers with resize(), or start one with "
                "'freestone worker' and the file that cluster.access names",
                RuntimeWarning,
                stacklevel=stacklevel,
            )

    def resize(self, workers: int) -> None:
        """Have so many workers on this machine.

        Parameters
        ----------
        workers
            How many of those that this program starts; at least 1. Workers that joined by
            themselves do not count and stay.

        Raises
        ------
        ConfigurationError
            For less than 1, or when an engine starts the workers.
        ClusterStartError
            When new workers don't start.

        Notes
        -----
        Growing comes back when all have joined, some 0.3 s for each. Unless `executors`, `memory`
        and `disk` were given, a new worker has what it would have if there had been as many from
        the start, and at most half of what the others leave of the machine. Shrinking lets the
        youngest go as `retire` does and comes back at once; the first stays, as the program's own
        blocks are there.

        Blocks of collections are evened out among the workers' executors, by the fewest bytes, from
        worker to worker and while calls run: newcomers get their share, what leavers hold goes to
        those that have least, and what belongs together stays together. Until
        ``statistics().moving`` is 0 some are still on their way; `split` says where they are.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1, memory="64MiB") as cluster:
        ...     cluster.resize(2)
        ...     len(cluster.statistics().workers)
        2
        """
        self._require_resizable(workers)
        with self._resizing:
            leaving = self._site.present()[max(workers, 1) :]
            self._let_nodes_go(leaving)
            if not leaving:
                self._site.grow(workers)
                self._manager.balance()

    def _require_resizable(self, workers: int) -> None:
        if self.closed:
            raise ClosedError("resize the cluster")
        if self._host is not None:
            problem = (
                f"the workers are started by {self._host.name}: let it start or end some, and they "
                "join or leave here; see also 'freestone factory'"
            )
            raise ConfigurationError(problem, key="workers", origin="resize")
        if workers < 1:
            problem = f"a cluster has at least 1 worker, not {workers}; close() ends all"
            raise ConfigurationError(problem, key="workers", origin="resize")

    def _let_nodes_go(self, nodes: list[Node]) -> None:
        """Retire all at once, so that none hands over to another that leaves."""
        for node in nodes:
            self._site.let_go(node.memory_dir)
        numbers = [self._number_of(node) for node in nodes]
        self._manager.retire([number for number in numbers if number is not None])

    def wait_for_workers(self, workers: int, timeout_s: float | None = None) -> None:
        """Wait until there are so many workers that run calls.

        Parameters
        ----------
        workers
            How many at least. Workers without executors, such as the program's own on an engine,
            do not count, nor do those that are being let go.
        timeout_s
            How long to wait, in seconds; forever by default.

        Raises
        ------
        WorkersMissingError
            A `TimeoutError`: when there are fewer by then.
        ClosedError
            When the cluster is closed, before or meanwhile.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(workers=2, executors=1) as cluster:
        ...     cluster.wait_for_workers(2, timeout_s=60)
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.closed:
            there = self._running_calls()
            if there >= workers:
                return
            if end is not None and time.monotonic() > end:
                raise WorkersMissingError(wanted=workers, there=there, timeout_s=timeout_s or 0.0)
            time.sleep(_LOOK_S)
        raise ClosedError("wait for workers")

    def _running_calls(self) -> int:
        """How many workers take calls."""
        workers = self._workers()
        return sum(worker["slots"] > 0 and not worker["leaving"] for worker in workers)

    def _workers(self) -> list[dict[str, Any]]:
        workers: list[dict[str, Any]] = self._manager.statistics()["workers"]
        return workers

    def _joined(self) -> list[str]:
        return [worker["folder"] for worker in self._workers()]

    def _folder_of(self, worker: int) -> str | None:
        label = f"worker-{worker}"
        return next((one["folder"] for one in self._workers() if one["worker"] == label), None)

    def _number_of(self, node: Node) -> int | None:
        for worker in self._workers():
            if worker["folder"] == node.memory_dir:
                return int(worker["worker"].removeprefix("worker-"))
        return None

    def _settle_at(self, node: Node) -> None:
        """Make the worker of a node the home of the program's own blocks, if it is the first."""
        number = self._number_of(node) if node is self._site.home else None
        if number is not None:
            memory, disk = (node.memory_dir, node.memory), (node.disk_dir, node.disk)
            self._manager.set_home(number, memory, disk)
            self._home = number
