"""The functions that are called: in a module, so that every system ships them its own way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator


def noop(_: object = None) -> None:
    """Do nothing."""


def increment(value: int) -> int:
    """Return the next number: a step of a chain."""
    return value + 1


def add(left: int, right: int) -> int:
    """Return a sum: a node of a tree."""
    return left + right


def submit_here(count: int, first: int) -> list[float]:
    """In a task of freestone: submit calls one by one, wait for each; the seconds of each."""
    import freestone as fs

    cluster = fs.current()
    assert cluster is not None
    return _each(count, lambda number: cluster.submit(noop, first + number).result())


def submit_on_dask(count: int) -> list[float]:
    """In a task of Dask: do the same, with its thread given back."""
    from distributed import worker_client

    with worker_client() as client:
        return _each(count, lambda number: client.submit(noop, number, pure=False).result())


def submit_on_ray(count: int) -> list[float]:
    """In a task of Ray: do the same; Ray gives its CPU back while it waits."""
    import ray

    remote = ray.remote(noop)
    return _each(count, lambda number: ray.get(remote.remote(number)))


def squares(count: int) -> Iterator[int]:
    """Yield small numbers."""
    # Ray sends values to generators, which `yield from` would pass on to the range.
    for number in range(count):  # noqa: UP028
        yield number


class Adder:
    """A sum, for actors."""

    def __init__(self) -> None:
        self.sum = 0

    def add(self, number: int) -> int:
        """Add a number; the sum."""
        self.sum += number
        return self.sum


def _each(count: int, call: Callable[[int], object]) -> list[float]:
    seconds = []
    for number in range(count):
        start = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - start)
    return seconds


def linger(seconds: float) -> int:
    """Keep a worker busy for a while and return its process id, to see that all are up."""
    time.sleep(seconds)
    return os.getpid()
