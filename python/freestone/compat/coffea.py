"""A cluster as an executor of coffea's `Runner`.

with fs.Cluster():
    run = processor.Runner(executor=FreestoneExecutor(), schema=NanoAODSchema)
    histograms = run(fileset, processor_instance=MyProcessor(), treename="Events")
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from coffea.processor.accumulator import accumulate
from coffea.processor.executor import ExecutorBase, rich_bar

from freestone.client.opened import current
from freestone.client.waiting import as_completed
from freestone.errors import UsageError

if TYPE_CHECKING:
    from freestone.client import Client, Future, HasClient

__all__ = ["FreestoneExecutor"]


@dataclasses.dataclass
class FreestoneExecutor(ExecutorBase):  # type: ignore[misc]
    """Runs coffea's chunks as calls of a cluster, and merges what they give on the workers.

    Parameters
    ----------
    cluster : Cluster, optional
        By default the one that was opened last.
    arity : int
        The most results that one call merges, at least 2.
    commutes : bool
        Whether results are merged as they come, first those of one worker: hardly any is sent. If
        False, they are merged in the order of the chunks, and sums have the same bits each time.
    recoverable : bool
        Whether a chunk that fails leaves the others: `Runner` gets what they gave, and the error.
    options : mapping
        Those of ``Cluster.submit`` for the calls of chunks, such as ``{"keep": "forever"}``, by
        which a later run that has the same processor and files finds their results. A file that
        was written again is another one. What can't be told from its next version, such as a
        remote Parquet file, is read by each run.
    retries : int
        How often `Runner` reads a file again that can't be opened.
    status, unit, desc, compression, function_name
        As for other executors of coffea; what stays on the workers is not compressed.

    Notes
    -----
    Chunks are merged in a tree while others run, n of them by about (n - 1) / (arity - 1) calls.
    Only the last result comes to this program, where it is copied once, so that it can be changed.
    """

    cluster: HasClient | None = None
    arity: int = 8
    commutes: bool = True
    recoverable: bool = False
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    retries: int = 3

    def __call__(
        self, items: Iterable[Any], function: Callable[[Any], Any], accumulator: Any
    ) -> Any:
        """Call the function of each item and merge the results with the accumulator.

        Returns
        -------
        tuple
            What they make together, and 0 or, if `recoverable`, the error of an item.

        Raises
        ------
        UsageError
            When no cluster is open.
        Exception
            That of an item, unless `recoverable`; the other calls are cancelled then. If each item
            fails, the first error.
        """
        items = list(items)
        if not items:
            return accumulator
        client = self._client()
        options = {"name": self.function_name or self.desc, **self.options}
        futures = _submitted(client, function, items, options)
        merged = self._merge(client, futures)
        good, error = self._follow(client, futures, merged)
        if error is not None:
            # Of results that are none `Runner` says only that there are none.
            if not self.recoverable or not good:
                raise error
            merged = self._merge(client, good)
        value = copy.deepcopy(merged.result())
        return accumulate([value, accumulator]), error or 0

    def _client(self) -> Client:
        client = current() if self.cluster is None else self.cluster.client
        if client is None:
            raise UsageError("no cluster is open: give FreestoneExecutor(cluster=...), or open one")
        return client

    def _merge(self, client: Client, futures: list[Future]) -> Future:
        return client.reduce(_merged, futures, self.arity, commutes=self.commutes)

    def _follow(
        self, client: Client, futures: list[Future], merged: Future
    ) -> tuple[list[Future], BaseException | None]:
        """Show how far the calls are; what is good, if that may be needed, and the first error."""
        good: list[Future] = []
        error: BaseException | None = None
        pending = set(futures)
        # What has been merged is dropped while others run.
        futures.clear()
        with rich_bar() as progress:
            task = progress.add_task(
                self.desc, total=len(pending), unit=self.unit, disable=not self.status
            )
            for future in as_completed(pending):
                pending.discard(future)
                error = error or future.exception()
                if error is not None and not self.recoverable:
                    client.cancel([merged, *pending])
                    break
                if self.recoverable and future.status == "done":
                    good.append(future)
                progress.update(task, advance=1, refresh=True)
        return good, error


def _submitted(
    client: Client, function: Callable[[Any], Any], items: list[Any], options: Mapping[str, Any]
) -> list[Future]:
    """Submit a call for each item, named by the item and by what its file looks like now."""
    call = functools.partial(_call, function)
    versions = [_version(item) for item in items]
    found = [(i, v) for i, v in zip(items, versions, strict=True) if v is not None]
    # Nobody can ask for these again, so that keeping them would only take space.
    others = [(i, uuid.uuid4().hex) for i, v in zip(items, versions, strict=True) if v is None]
    shared = iter(client.map(call, found, options))
    single = iter(client.map(call, others, {**options, "keep": "task"}))
    return [next(single if v is None else shared) for v in versions]


def _call(function: Callable[[Any], Any], item: Any, version: object) -> Any:
    """Call a function of coffea's; the version only tells this call from one of an older file."""
    return function(item)


def _version(item: Any) -> object:
    """Return what differs when an item's file is written again, or None where nothing says it."""
    path = getattr(item, "filename", None)
    if path is None:
        # No file of coffea's: the item is all that there is to read.
        return ()
    try:
        found = os.stat(path)
    except (OSError, TypeError, ValueError):
        found = None
    if found is not None and stat.S_ISREG(found.st_mode):
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    unique = getattr(item, "fileuuid", None)
    # ROOT gives each file that it makes another UUID; for Parquet coffea takes the path's hash.
    if not unique or unique == hashlib.md5(str(path).encode()).digest():
        return None
    return unique


def _merged(*results: Any) -> Any:
    """Merge results as coffea does: into a new one, since blocks are immutable."""
    return accumulate(results)
