"""A worker beside each worker of a Dask cluster."""

from __future__ import annotations

import subprocess
import uuid
from typing import Any
from urllib.parse import urlsplit

from freestone.config import Config
from freestone.hosts import engine
from freestone.hosts.access import Access

__all__ = ["DaskHost"]

_CURE = "pip install distributed"


class DaskHost:
    """Workers of freestone on the machines of a Dask cluster.

    Parameters
    ----------
    client
        A `distributed.Client`.

    Notes
    -----
    A plugin starts a worker beside each of Dask's, also those that come later, with as many
    executors as that one has threads; it ends when that one does.
    """

    name = "Dask"

    def __init__(self, client: Any) -> None:
        engine.require("distributed", self.name, _CURE)
        self._client = client
        self._plugin = f"freestone-{uuid.uuid4().hex[:12]}"
        self._started = False

    def listen(self) -> str:
        """Listen where Dask's scheduler sees this machine."""
        return engine.listen_towards(_host_of(self._client.scheduler.address))

    def start(self, access: Access, config: Config) -> None:
        """Register the plugin, which starts the workers."""
        self._started = True
        self._client.register_plugin(_plugin(access, config), name=self._plugin)

    def joining(self) -> int:
        """Return how many workers Dask has."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        """Take the plugin away, which ends the workers."""
        if self._started and self._client.status == "running":
            self._client.unregister_worker_plugin(self._plugin)


def _host_of(address: str) -> str:
    # Workers in threads of this process have an address that is no host.
    return "" if address.startswith("inproc") else urlsplit(address).hostname or ""


def _plugin(access: Access, config: Config) -> Any:
    from distributed import WorkerPlugin

    class Plugin(WorkerPlugin):  # type: ignore[misc]
        """Starts a worker of freestone beside one of Dask."""

        def __init__(self) -> None:
            self.access = access.text()
            self.config = config
            self.process: subprocess.Popen[bytes] | None = None

        def setup(self, worker: Any) -> None:
            self.process = engine.launch(self.access, _words(self.config, worker))

        def teardown(self, worker: Any) -> None:
            if self.process is not None:
                engine.end(self.process)

    return Plugin()


def _words(config: Config, worker: Any) -> list[str]:
    words = engine.words(config, executors=worker.state.nthreads)
    limit = worker.memory_manager.memory_limit
    if config.memory is None and limit:
        # Dask's own data need room as well.
        words += ["--memory", str(limit // 2)]
    return words
