"""A cluster as an executor of Parsl.

with fs.Cluster(), parsl.load(Config(executors=[FreestoneExecutor()])):
    print(app(1).result())
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parsl.executors.base import ParslExecutor
from parsl.executors.errors import InvalidResourceSpecification
from parsl.utils import RepresentationMixin

from freestone.client.opened import current
from freestone.compat.concurrent import follow
from freestone.errors import UsageError

if TYPE_CHECKING:
    from freestone.client import Client, HasClient

__all__ = ["FreestoneExecutor"]

_MEGABYTE = 1_000_000
_RESOURCES = {"cores": 1, "gpus": 1, "memory": _MEGABYTE, "disk": _MEGABYTE}
"""What one of Parsl's units is: memory and disk are in megabytes, as with Work Queue."""


class FreestoneExecutor(ParslExecutor, RepresentationMixin):  # type: ignore[misc]
    """Runs Parsl's apps as calls of a cluster.

    Parameters
    ----------
    cluster : Cluster, optional
        Where calls go; by default the one that was opened last. It stays open when Parsl ends.
    label : str
        The name by which apps choose it (``executors=["freestone"]``).
    storage_access : list, optional
        Parsl's providers of staging.
    working_dir : str, optional
        Where Parsl stages files.
    options : mapping
        Those of ``Cluster.submit`` for all calls, such as ``{"retries": 2}``. Parsl has its own
        retries and memoization, so calls are not ``pure``.

    Notes
    -----
    An app's ``parsl_resource_specification`` may have ``cores``, ``gpus``, ``memory`` and ``disk``
    (in MB) and ``priority``.
    """

    def __init__(
        self,
        cluster: HasClient | None = None,
        label: str = "freestone",
        storage_access: list[Any] | None = None,
        working_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.cluster = cluster
        self.label = label
        self.storage_access = storage_access
        self.working_dir = working_dir
        self.options = options
        self._client: Client | None = None
        self._pending: set[concurrent.futures.Future[Any]] = set()

    def start(self) -> None:
        """Take the cluster that is open, unless one was given.

        Raises
        ------
        UsageError
            When none is open.
        """
        self._client = current() if self.cluster is None else self.cluster.client
        if self._client is None:
            raise UsageError("no cluster is open: give FreestoneExecutor(cluster=...), or open one")

    def submit(
        self,
        func: Callable[..., Any],
        resource_specification: Mapping[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> concurrent.futures.Future[Any]:
        """Submit a call.

        Raises
        ------
        InvalidResourceSpecification
            Of Parsl: when something is asked for that clusters do not know.
        UsageError
            Before `start`.
        """
        if self._client is None:
            raise UsageError("Parsl has not started this executor: load it with parsl.load(Config)")
        options = {"pure": False, **(self.options or {}), **_options(resource_specification)}
        future = follow(self._client.submit(func, args, kwargs, options))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def shutdown(self, block: bool = True) -> None:
        """Take no more calls, and wait for those that were submitted."""
        self._client = None
        if block:
            concurrent.futures.wait(list(self._pending))
        super().shutdown()

    def monitor_resources(self) -> bool:
        """Tell Parsl not to measure processes: one executor process runs many calls."""
        return False


def _options(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an app asks for, as options of ``Cluster.submit``."""
    unknown = set(specification) - {*_RESOURCES, "priority"}
    if unknown:
        known = ", ".join([*_RESOURCES, "priority"])
        raise InvalidResourceSpecification(unknown, f"Freestone knows {known}.")
    options: dict[str, Any] = {}
    if "priority" in specification:
        options["priority"] = specification["priority"]
    resources = {
        name: specification[name] * unit
        for name, unit in _RESOURCES.items()
        if name in specification
    }
    return {**options, "resources": resources} if resources else options
