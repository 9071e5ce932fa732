"""A worker that only keeps blocks, for a program whose cluster is on another machine."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from freestone.errors import ConnectError
from freestone.hosts import engine
from freestone.hosts.folders import disk_dir_of, runtime_dir
from freestone.hosts.node import hostname
from freestone.observe.workers import worker_number

if TYPE_CHECKING:
    from freestone.client.remote import RemoteClient
    from freestone.hosts.access import Access

__all__ = ["OwnWorker"]

_POLL_INTERVAL_S = 0.01
# Of each tier, where the settings do not say: results pass through it, and values that are put.
_NBYTES = 1 << 30


class OwnWorker:
    """Joins the cluster of a program from the program's machine.

    Parameters
    ----------
    client
        The program's; it has its home there from then on.
    access
        What the worker joins with.

    Raises
    ------
    ConnectError
        When it does not join.

    Notes
    -----
    The worker ends with the program, however that ends, and hands over what only it holds and
    somebody needs, such as published blocks.
    """

    def __init__(self, client: RemoteClient, access: Access) -> None:
        config = client.config
        self._client = client
        memory, disk = config.memory or _NBYTES, config.disk or _NBYTES
        words = ["--executors", "0", "--memory", str(memory), "--disk", str(disk)]
        runtime = runtime_dir(config)
        own = {"FREESTONE_FOLDER": str(runtime), "FREESTONE_RECONNECT_S": str(config.reconnect_s)}
        variables = os.environ | own
        self._process = engine.launch(access.text(), words, env=variables)
        try:
            number, folder = self._joined(config.start_timeout_s)
            client.set_home(number, (folder, memory), (disk_dir_of(runtime, folder), disk))
        except BaseException:
            self.end()
            raise

    def _joined(self, timeout_s: float) -> tuple[int, str]:
        """Wait until it has joined; its number, and its cache's folder in memory."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self._process.poll() is None:
            for worker in self._client.workers():
                if worker["pid"] == self._process.pid and worker["host"] == hostname():
                    return worker_number(worker["worker"]), worker["folder"]
            time.sleep(_POLL_INTERVAL_S)
        status = self._process.poll()
        how = f"has not joined within {timeout_s:g} s" if status is None else f"ended ({status})"
        reason = f"this program's own worker {how}; what it printed says why"
        raise ConnectError(cluster=self._client.cluster, reason=reason)

    def end(self) -> None:
        """Let it go."""
        engine.end(self._process)

    def forget(self) -> None:
        """In a child of this process: leave it to this process, whose end is to be its own."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        # It is no child of this one's, which would be warned that it runs still.
        self._process.returncode = 0
