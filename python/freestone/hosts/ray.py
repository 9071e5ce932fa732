"""A worker on each node of a Ray cluster."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from typing import Any

from freestone.config import Config
from freestone.errors import EngineMissingError
from freestone.hosts import engine
from freestone.hosts.access import Access

__all__ = ["RayHost"]

_CURE = "pip install ray"
# How often nodes that came or went are looked for.
_POLL_INTERVAL_S = 1.0


class Keeper:
    """The actor that starts a worker on its node and keeps it."""

    def __init__(self, access: str, words: list[str]) -> None:
        self.process: subprocess.Popen[bytes] = engine.launch(access, words)

    def end(self) -> None:
        """Let the worker go."""
        engine.end(self.process)


class RayHost:
    """Workers of freestone on the nodes of a Ray cluster, each in an actor with the node's cores.

    Raises
    ------
    EngineMissingError
        Without Ray, or if the program is not connected to it.

    Notes
    -----
    Nodes that come later get a worker within a second or so.
    """

    name = "Ray"

    def __init__(self) -> None:
        self._ray: Any = engine.require("ray", self.name, _CURE)
        if not self._ray.is_initialized():
            cure = "call ray.init() first"
            raise EngineMissingError(
                engine=self.name, missing="the program is not connected to Ray", cure=cure
            )
        self._keepers: dict[str, Any] = {}
        self._closing = threading.Event()
        self._watcher: threading.Thread | None = None

    def listen(self) -> str:
        """Listen on the loopback address if there is no other machine."""
        here = self._ray.util.get_node_ip_address()
        elsewhere = [node["NodeManagerAddress"] for node in self._nodes().values()]
        elsewhere = [address for address in elsewhere if address != here]
        return engine.listen_towards(elsewhere[0] if elsewhere else "")

    def start(self, access: Access, config: Config) -> None:
        """Start an actor on each node, and on those that come."""
        self._follow(access, config)
        self._watcher = threading.Thread(
            target=self._watch, args=(access, config), name="freestone-ray", daemon=True
        )
        self._watcher.start()

    def joining(self) -> int:
        """Return how many nodes have an actor."""
        return len(self._keepers)

    def close(self) -> None:
        """End the workers and their actors."""
        self._closing.set()
        if self._watcher is not None:
            self._watcher.join()
        for keeper in self._keepers.values():
            # One whose node went away is gone already.
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.get(keeper.end.remote(), timeout=30)
            self._ray.kill(keeper)
        self._keepers.clear()

    def _nodes(self) -> dict[str, dict[str, Any]]:
        alive = (node for node in self._ray.nodes() if node["Alive"])
        return {node["NodeID"]: node for node in alive if node["Resources"].get("CPU", 0) >= 1}

    def _watch(self, access: Access, config: Config) -> None:
        while not self._closing.wait(_POLL_INTERVAL_S):
            # Ray itself may be on its way out; its nodes are looked at again.
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._follow(access, config)

    def _follow(self, access: Access, config: Config) -> None:
        nodes = self._nodes()
        for gone in self._keepers.keys() - nodes.keys():
            del self._keepers[gone]
        for name in nodes.keys() - self._keepers.keys():
            cores = int(config.executors or nodes[name]["Resources"]["CPU"])
            affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            actor = self._ray.remote(Keeper).options(
                num_cpus=cores, scheduling_strategy=affinity(name, soft=False)
            )
            self._keepers[name] = actor.remote(access.text(), engine.words(config, cores))
