"""The standard library's process pool: two processes."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.functions import add, increment, linger, noop
from benchmarks.peers.base import WORKERS, Peer

CHUNK = 250


class Pool(Peer):
    """Calls of `ProcessPoolExecutor`. It knows no dependencies: chain and tree wait here."""

    def start(self) -> None:
        """Start both processes."""
        context = multiprocessing.get_context("forkserver")
        self.pool = ProcessPoolExecutor(WORKERS, mp_context=context)
        list(self.pool.map(linger, [0.1] * 2 * WORKERS))

    def stop(self) -> None:
        """End both processes."""
        self.pool.shutdown()

    def map(self, count: int) -> None:
        """Map as it does by default, a call per message."""
        list(self.pool.map(noop, self.unused(count)))

    def map_chunked(self, count: int) -> None:
        """Map with the caller choosing how many calls go in a message."""
        list(self.pool.map(noop, self.unused(count), chunksize=CHUNK))

    def submit(self, count: int) -> None:
        """Submit in a loop and wait for each."""
        submit = self.pool.submit
        for future in [submit(noop, number) for number in self.unused(count)]:
            future.result()

    def chain(self, count: int) -> Any:
        """Submit, wait, submit with the result."""
        value = 0
        for _ in range(count):
            value = self.pool.submit(increment, value).result()
        return value

    def tree(self, leaves: int) -> Any:
        """Map level by level."""
        level = list(self.pool.map(increment, self.unused(leaves)))
        while len(level) > 1:
            odd = level[len(level) & ~1 :]
            level = list(self.pool.map(add, level[:-1:2], level[1::2])) + odd
        return level[0]

    def round_trip(self) -> None:
        """Submit and wait."""
        self.pool.submit(noop, self.unused(1)[0]).result()
