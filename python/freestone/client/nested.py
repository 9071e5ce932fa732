"""The client of tasks that submit tasks: of the cluster whose executor this process is."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from freestone import _native, functions
from freestone.client.definitions import Definitions
from freestone.client.remote import RemoteClient
from freestone.config import Config
from freestone.errors import ConnectError, UsageError
from freestone.hosts.access import Access
from freestone.hosts.node import hostname
from freestone.observe.workers import worker_number

__all__ = ["NestedClient", "client", "has_worker"]

_lock = threading.Lock()
_client: NestedClient | None = None


class _Definitions(Definitions):
    """Functions whose calls import what the task that submits them does."""

    def define_encoded(
        self, encoded: functions.EncodedFunction, label: str, *, as_block: bool
    ) -> int:
        """Return the function's number; see `Definitions`."""
        self.packages = functions.entered()
        return super().define_encoded(encoded, label, as_block=as_block)


class NestedClient(RemoteClient):
    """Submits calls of the task that runs in this process; see `Client`.

    Notes
    -----
    They come before others of their parent's priority, so that the number of tasks that wait stays
    small. The connection is the executor's: when the executor ends, as it does if its task is
    cancelled, what only that task needs is cancelled.
    """

    @property
    def holder(self) -> str:
        """Who enters locks by it, for people."""
        return f"a task on worker-{self.task_worker} (process {os.getpid()} on {hostname()})"

    @property
    def task_worker(self) -> int | None:
        """The worker of this executor."""
        return self.manager.home

    def _begin(self, config: Config, manager: _native.manager.Manager) -> None:
        super()._begin(config, manager)
        self._definitions = _Definitions(manager)

    def _native(self, options: dict[str, Any], outputs: int) -> _native.manager.Options:
        above = _native.executor.priority()
        options["priority"] = options.get("priority", 0) + (0 if above is None else above + 1)
        return super()._native(options, outputs)


def client() -> NestedClient | None:
    """Return the client of the cluster that runs this process's calls; None in any other process.

    Raises
    ------
    UsageError
        In a call with ``isolation="process"``.
    ConnectError
        When the manager can't be reached.
    """
    global _client
    if not functions.in_executor():
        return None
    if "FREESTONE__APART" in os.environ:
        problem = "a call with isolation='process' can't submit calls, nor use queues, variables"
        raise UsageError(f"{problem} and locks; with isolation='fork', or the default, it can")
    with _lock:
        if _client is None or _client.closed:
            _client = _connect()
        return _client


def has_worker(timeout_s: float) -> bool:
    """Tell whether the worker of this executor is there, and does not end within a time.

    An executor may outlive its worker for a moment.
    """
    poll = select.poll()
    poll.register(int(os.environ["FREESTONE__EXECUTOR_SOCKET"]), select.POLLRDHUP)
    return not poll.poll(1000 * timeout_s)


@contextmanager
def reading() -> Iterator[NestedClient]:
    """Return the same client, or in a call with ``isolation="process"`` one for this block only."""
    if "FREESTONE__APART" not in os.environ:
        there = client()
        assert there is not None
        yield there
        return
    own = _connect()
    try:
        yield own
    finally:
        own.close()


def _connect() -> NestedClient:
    env = os.environ
    config = Config.load(
        {
            "spin_us": env["FREESTONE__SPIN_US"],
            "inline_nbytes": env["FREESTONE__INLINE_NBYTES"],
            # What a task that is lost has submitted is to be cancelled at once.
            "reconnect_s": 0,
        }
    )
    access = Access.read(env["FREESTONE__ACCESS"])
    address, folder = env["FREESTONE__MANAGER"], env["FREESTONE__MEMORY_DIR"]
    client = NestedClient(
        config, cluster=address, address=address, key=access.key, identity=access.identity
    )
    for worker in client.workers():
        if worker["folder"] == folder and worker["host"] == hostname():
            memory = (folder, int(env["FREESTONE__MEMORY"]))
            disk = (env["FREESTONE__DISK_DIR"], int(env["FREESTONE__DISK"]))
            client.set_home(worker_number(worker["worker"]), memory, disk)
            return client
    client.close()
    raise ConnectError(cluster=address, reason="the worker of this executor is not there any more")


def _forget() -> None:
    """In a child of this process, which has no such connection: it makes one when it needs one."""
    global _client, _lock
    _lock = threading.Lock()
    if _client is not None:
        _client.manager.forget()
        _client = None


os.register_at_fork(after_in_child=_forget)
