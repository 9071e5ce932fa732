"""A cluster as an executor of coffea's `Runner`.

with fs.Cluster():
    run = processor.Runner(executor=FreestoneExecutor(), schema=NanoAODSchema)
    histograms = run(fileset, processor_instance=MyProcessor(), treename="Events")
"""

from __future__ import annotations

import copy
import dataclasses
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
        which a later run that has the same processor and files finds their results.
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
            That of an item, unless `recoverable`. The other calls are cancelled.
        """
        items = list(items)
        if not items:
            return accumulator
        client = self._client()
        options = {"name": self.function_name or self.desc, **self.options}
        futures = client.map(function, [(item,) for item in items], options)
        merged = self._merge(client, futures)
        good, error = self._follow(client, futures, merged)
        if error is not None:
            if not self.recoverable:
                raise error
            if not good:
                return accumulator, error
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


def _merged(*results: Any) -> Any:
    """Merge results as coffea does: into a new one, since blocks are immutable."""
    return accumulate(results)
