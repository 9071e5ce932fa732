"""What the applications' command lines share."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import freestone as fs
from examples.data import REAL

__all__ = ["DEFAULT_VARIANT", "VARIANTS", "measure", "open_cluster", "parser", "value_of"]

T = TypeVar("T")

VARIANTS = {
    "sequential": "one process, block after block",
    "blocks": "a call for each block",
    "split": "a call for each partition",
    "materialize": "a call for each partition, its blocks joined in one first",
    "rechunk": "a call for each block, after cutting anew in one block for each core",
}
DEFAULT_VARIANT = "split"


def parser(
    description: str, kernels: Iterable[str], kernel: str, rows: int, data: Iterable[str]
) -> argparse.ArgumentParser:
    """Return a command line with what every application has.

    Parameters
    ----------
    description
        What the application does.
    kernels, kernel
        The names of its kernels, and the default.
    rows
        How many points it makes up by default.
    data
        Which real data sets it takes.
    """
    found = argparse.ArgumentParser(description=description)
    about = "; ".join(f"{name}: {meaning}" for name, meaning in VARIANTS.items())
    found.add_argument("--variant", choices=VARIANTS, default=DEFAULT_VARIANT, help=about)
    found.add_argument("--kernel", choices=list(kernels), default=kernel, help=f"default: {kernel}")
    names = ["made-up", *data]
    found.add_argument("--data", choices=names, default="made-up", help="made-up by default")
    found.add_argument("--points", type=int, default=rows, help=f"made-up points, {rows:,}")
    found.add_argument("--blocks", type=int, default=96, help="blocks of the data, 96")
    found.add_argument("--workers", type=int, help="workers to start")
    found.add_argument("--executors", type=int, help="processes of each worker")
    return found


def open_cluster(options: argparse.Namespace) -> AbstractContextManager[fs.Cluster | None]:
    """Open the cluster that was asked for; none for the sequential code, or inside another."""
    if options.variant == "sequential" or fs.current() is not None:
        return nullcontext(fs.current())
    asked = {name: getattr(options, name) for name in ("workers", "executors")}
    return fs.Cluster(**{name: count for name, count in asked.items() if count is not None})


def real(name: str) -> Any:
    """Load a real data set by name."""
    return REAL[name]()


def value_of(result: Any) -> Any:
    """Return the value of a future; anything else as it is."""
    return result.result() if hasattr(result, "result") else result


def cores() -> int:
    """Return how many calls run at once, 1 outside a cluster."""
    cluster = fs.current()
    return 1 if cluster is None else cluster.slots


def one_per_core(array: fs.Array) -> fs.Array:
    """Cut an array anew so that each core has one block."""
    return array.rechunk(max(1, -(-array.shape[0] // cores())))


def measure(label: str, action: Callable[[], T]) -> T:
    """Run an action and print the seconds that it took."""
    start = time.perf_counter()
    found = action()
    print(f"{label}: {time.perf_counter() - start:.3f} s")
    return found
