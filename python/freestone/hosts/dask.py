"""A worker beside each worker of a Dask cluster."""

from __future__ import annotations

import subprocess
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
    executors as that one has threads; it ends when that one does. The process that goes on with a
    cluster whose process was killed finds the plugin there, and its workers.
    """

    name = "Dask"

    def __init__(self, client: Any) -> None:
        engine.require("distributed", self.name, _CURE)
        self._client = client
        self._plugin: str | None = None

    def listen(self) -> str:
        """Listen where Dask's scheduler sees this machine."""
        return engine.listen_towards(_host_of(self._client.scheduler.address))

    def start(self, access: Access, config: Config) -> None:
        """Register the plugin, which starts the workers that are not there."""
        self._plugin = f"freestone-{access.cluster}"
        if not self._client.register_plugin(_plugin(access, config), name=self._plugin):
            # A former process has registered it: its workers may have waited too long for this one.
            self._client.run(_start_again, self._plugin)

    def joining(self) -> int:
        """Return how many workers Dask has."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        """Take the plugin away, which ends the workers."""
        if self._plugin is not None and self._client.status == "running":
            self._client.unregister_worker_plugin(self._plugin)


def _host_of(address: str) -> str:
    # Workers in threads of this process have an address that is no host.
    return "" if address.startswith("inproc") else urlsplit(address).hostname or ""


def _start_again(name: str, dask_worker: Any) -> None:
    """Start the worker beside one of Dask's if it has ended."""
    plugin = dask_worker.plugins.get(name)
    if plugin is not None and plugin.process is not None and plugin.process.poll() is not None:
        plugin.setup(dask_worker)


def _plugin(access: Access, config: Config) -> Any:
    from distributed import WorkerPlugin

    class Plugin(WorkerPlugin):  # type: ignore[misc]
        """Starts a worker of freestone beside one of Dask."""

        # One of this name that Dask has already is kept, with its workers.
        idempotent = True

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
