"""Parsl: its high-throughput executor with two workers."""

from __future__ import annotations

import tempfile
from typing import Any

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

from benchmarks.functions import add, increment, linger, noop
from benchmarks.peers.base import WORKERS, Peer, pairwise


class Parsl(Peer):
    """Calls of Python apps, not memoized. Parsl has no map."""

    has_map = False

    def start(self) -> None:
        """Start the interchange and the worker pool, and wait until both workers run."""
        self.folder = tempfile.TemporaryDirectory(prefix="parsl-")
        executor = HighThroughputExecutor(
            address="127.0.0.1",
            max_workers_per_node=WORKERS,
            cores_per_worker=1,
            encrypted=False,
            provider=LocalProvider(init_blocks=1, max_blocks=1),
        )
        self.kernel = parsl.load(
            Config(
                executors=[executor],
                strategy="none",
                run_dir=self.folder.name,
                initialize_logging=False,
                usage_tracking=0,
            )
        )
        self.noop, self.increment, self.add = map(parsl.python_app, (noop, increment, add))
        busy = [parsl.python_app(linger)(0.2) for _ in range(2 * WORKERS)]
        for future in busy:
            future.result()

    def stop(self) -> None:
        """End the executor."""
        self.kernel.cleanup()
        parsl.clear()
        self.folder.cleanup()

    def map(self, count: int) -> None:
        """Not there: the same as `submit`."""
        self.submit(count)

    def submit(self, count: int) -> None:
        """Call the app in a loop and wait for each."""
        call = self.noop
        for future in [call(number) for number in self.unused(count)]:
            future.result()

    def chain(self, count: int) -> Any:
        """Call on futures; wait for the last."""
        future = self.increment(0)
        for _ in range(count - 1):
            future = self.increment(future)
        return future.result()

    def tree(self, leaves: int) -> Any:
        """Call leaves and sums; wait for the root."""
        level = [self.increment(number) for number in self.unused(leaves)]
        return pairwise(level, self.add).result()

    def round_trip(self) -> None:
        """Call and wait."""
        self.noop(self.unused(1)[0]).result()
