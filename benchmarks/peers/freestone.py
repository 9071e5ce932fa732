"""Freestone: one worker with two executors."""

from __future__ import annotations

import freestone as fs
from benchmarks.functions import Adder, add, increment, linger, noop, squares, submit_here
from benchmarks.peers.base import WORKERS, Peer, pairwise


class Freestone(Peer):
    """Calls of a cluster on this machine."""

    def start(self) -> None:
        """Open the cluster and wait until every executor has run a call."""
        self.cluster = fs.Cluster(workers=1, executors=WORKERS)
        busy = [self.cluster.submit(linger, 0.1, pure=False) for _ in range(2 * WORKERS)]
        self.cluster.gather(busy)

    def stop(self) -> None:
        """Close the cluster."""
        self.cluster.close()

    def map(self, count: int) -> None:
        """Map over numbers and gather."""
        self.cluster.gather(self.cluster.map(noop, self.unused(count)))

    def submit(self, count: int) -> None:
        """Submit in a loop and gather."""
        submit = self.cluster.submit
        self.cluster.gather([submit(noop, number) for number in self.unused(count)])

    def chain(self, count: int) -> int:
        """Submit calls on futures; wait for the last."""
        future = self.cluster.submit(increment, self.unused(2 * count)[0])
        for _ in range(count - 1):
            future = self.cluster.submit(increment, future)
        return int(future.result())

    def tree(self, leaves: int) -> int:
        """Submit leaves and sums; wait for the root."""
        submit = self.cluster.submit
        level = [submit(increment, number) for number in self.unused(leaves)]
        return int(pairwise(level, lambda left, right: submit(add, left, right)).result())

    def round_trip(self) -> None:
        """Submit and wait."""
        self.cluster.submit(noop, self.unused(1)[0]).result()

    def nested(self, count: int) -> list[float]:
        """Have a call submit others, one by one, and wait for each; the seconds of each."""
        first = self.unused(count)[0]
        return list(self.cluster.submit(submit_here, count, first, pure=False).result())

    def actor(self, count: int) -> int:
        """Call a method of an actor; wait for all."""
        adder = self.cluster.actor(Adder)
        return int(self.cluster.gather([adder.add(1) for _ in range(count)])[-1])

    def stream(self, count: int) -> int:
        """Take the elements of a generator, one by one."""
        return sum(element.result() for element in self.cluster.stream(squares, count, pure=False))
