"""A report of what a part of a program did on a cluster."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.client.remote import RemoteClient
from freestone.cluster import open_clusters
from freestone.errors import UsageError
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    from freestone.client.local import LocalClient
    from freestone.cluster.cluster import Cluster
    from freestone.observe.figures import WorkerFigures
    from freestone.observe.recorder import Watch

__all__ = ["performance_report"]

# Far less than the time in which a manager makes as many records as it keeps.
_POLL_INTERVAL_S = 0.25


@suggest_keywords
@contextmanager
def performance_report(
    path: str | os.PathLike[str] = "freestone-report.html",
    *,
    cluster: Cluster | None = None,
    title: str | None = None,
) -> Iterator[None]:
    """Write a report of what a cluster does in the block, also when the block raises.

    Parameters
    ----------
    path
        The page, which needs no other file. Its folder is made if it is not there.
    cluster
        The one that this program opened last by default.
    title
        What stands on top; the file's name by default.

    Raises
    ------
    UsageError
        When no cluster is open, or another process serves it.

    Notes
    -----
    The report has attempts and transfers that end in the block, of all threads and programs that
    use the cluster. Until its end it takes about 300 bytes for each, then about 10 us for each to
    write. Of a cluster with ``profile=`` it has a flame graph, too. ``freestone report`` draws the
    same page of a run that was traced.

    Examples
    --------
    >>> import freestone as fs
    >>> with fs.Cluster(executors=1) as cluster:
    ...     with fs.performance_report("squares.html"):
    ...         cluster.gather(cluster.map(lambda x: x * x, range(4)))
    [0, 1, 4, 9]
    """
    found = cluster if cluster is not None else open_clusters.current()
    if found is None:
        raise UsageError("there is no cluster to report on: open one before the block")
    client = found.client
    if isinstance(client, RemoteClient):
        raise UsageError(
            f"another process serves the cluster {client.cluster!r}, and has the records of it; "
            "open the live page, or give that process trace="
        )
    client.require_open("report on it")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    recording = _Recording(client)
    try:
        yield
    finally:
        from freestone.observe import report

        report.write(path, recording.end(), title or path.stem)


class _Recording:
    """The records of a span of time, which a thread takes from the manager."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._watch: Watch = client.recorder.watch()
        # Workers that are there already: records tell of those that join later.
        self._joined = [
            {"kind": "joined", "worker": worker.worker, "at_ns": at_ns, "slots": worker.slots}
            for at_ns, worker in self._workers()
        ]
        self._ended = threading.Event()
        name = "freestone-performance-report"
        self._thread = threading.Thread(target=self._poll, name=name, daemon=True)
        self._thread.start()

    def _workers(self) -> Iterator[tuple[int, WorkerFigures]]:
        at_ns = time.monotonic_ns()
        for worker in self._client.statistics().workers:
            yield at_ns, worker

    def _poll(self) -> None:
        while not self._ended.wait(_POLL_INTERVAL_S):
            self._client.recorder.poll()

    def end(self) -> list[dict[str, Any]]:
        """Stop, and return the records."""
        from freestone.observe.columns import records

        self._ended.set()
        self._thread.join()
        parts = self._watch.take()
        self._watch.stop()
        found = [record for rows, columns in parts for record in records(rows, columns)]
        return [*self._joined, *found, *self._held()]

    def _held(self) -> list[dict[str, Any]]:
        """Tell what workers hold at the end, with which the report's time ends, too."""
        if self._client.closed:
            return []
        return [
            {
                "kind": "cache",
                "worker": worker.worker,
                "at_ns": at_ns,
                "memory_nbytes": worker.status.memory_nbytes,
                "disk_nbytes": worker.status.disk_nbytes,
            }
            for at_ns, worker in self._workers()
        ]
