"""Ray: a local node with two CPUs."""

from __future__ import annotations

from typing import Any

import ray

from benchmarks.functions import Adder, add, increment, linger, noop, squares, submit_on_ray
from benchmarks.peers.base import WORKERS, Peer, pairwise


class Ray(Peer):
    """Calls of remote functions, without the dashboard. Ray has no map for functions."""

    has_map = False

    def start(self) -> None:
        """Start the node and wait until both workers run."""
        ray.init(
            num_cpus=WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            object_store_memory=4 * 2**30,
        )
        self.noop, self.increment, self.add = map(ray.remote, (noop, increment, add))
        self.adder = ray.remote(Adder)
        self.squares = ray.remote(num_returns="streaming")(squares)
        busy = ray.remote(linger)
        ray.get([busy.remote(0.2) for _ in range(2 * WORKERS)])

    def stop(self) -> None:
        """End the node."""
        ray.shutdown()

    def map(self, count: int) -> None:
        """Not there: the same as `submit`."""
        self.submit(count)

    def submit(self, count: int) -> None:
        """Call in a loop and get all."""
        call = self.noop.remote
        ray.get([call(number) for number in self.unused(count)])

    def chain(self, count: int) -> Any:
        """Call on references; get the last."""
        reference = self.increment.remote(0)
        for _ in range(count - 1):
            reference = self.increment.remote(reference)
        return ray.get(reference)

    def tree(self, leaves: int) -> Any:
        """Call leaves and sums; get the root."""
        level = [self.increment.remote(number) for number in self.unused(leaves)]
        return ray.get(pairwise(level, self.add.remote))

    def round_trip(self) -> None:
        """Call and get."""
        ray.get(self.noop.remote(self.unused(1)[0]))

    def nested(self, count: int) -> list[float]:
        """Have a call submit others, one by one, and wait for each; the seconds of each."""
        return list(ray.get(ray.remote(submit_on_ray).remote(count)))

    def actor(self, count: int) -> Any:
        """Call a method of an actor; wait for all."""
        adder = self.adder.remote()
        return ray.get([adder.add.remote(1) for _ in range(count)])[-1]

    def stream(self, count: int) -> int:
        """Take the elements of a generator, one by one."""
        return sum(ray.get(element) for element in self.squares.remote(count))
