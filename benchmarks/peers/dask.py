"""dask.distributed: a local cluster of two processes with a thread each."""

from __future__ import annotations

from typing import Any

import dask
from distributed import Client, LocalCluster

from benchmarks.functions import Adder, add, increment, linger, noop, submit_on_dask
from benchmarks.peers.base import WORKERS, Peer, pairwise


class Dask(Peer):
    """Calls of `distributed.Client`, without its dashboard."""

    def start(self) -> None:
        """Start scheduler and workers and wait for both."""
        dask.config.set({"distributed.worker.daemon": True})
        self.cluster = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = Client(self.cluster)
        self.client.wait_for_workers(WORKERS)
        self.client.gather(self.client.map(linger, [0.1] * 2 * WORKERS, pure=False))

    def stop(self) -> None:
        """Close client and cluster."""
        self.client.close()
        self.cluster.close()

    def map(self, count: int) -> None:
        """Map over numbers and gather."""
        self.client.gather(self.client.map(noop, self.unused(count), pure=False))

    def submit(self, count: int) -> None:
        """Submit in a loop and gather."""
        submit = self.client.submit
        self.client.gather([submit(noop, number, pure=False) for number in self.unused(count)])

    def chain(self, count: int) -> Any:
        """Submit calls on futures; wait for the last."""
        future = self.client.submit(increment, 0, pure=False)
        for _ in range(count - 1):
            future = self.client.submit(increment, future, pure=False)
        return future.result()

    def tree(self, leaves: int) -> Any:
        """Submit leaves and sums; wait for the root."""
        submit = self.client.submit
        level = [submit(increment, number, pure=False) for number in self.unused(leaves)]
        return pairwise(level, lambda left, right: submit(add, left, right, pure=False)).result()

    def round_trip(self) -> None:
        """Submit and wait."""
        self.client.submit(noop, self.unused(1)[0], pure=False).result()

    def nested(self, count: int) -> list[float]:
        """Have a call submit others, one by one, and wait for each; the seconds of each."""
        return list(self.client.submit(submit_on_dask, count, pure=False).result())

    def actor(self, count: int) -> Any:
        """Call a method of an actor; wait for all."""
        adder = self.client.submit(Adder, actor=True, pure=False).result()
        return [call.result() for call in [adder.add(1) for _ in range(count)]][-1]
