"""What was sent to the cluster: a matrix that is still here is sent once.

See docs/decisions/055-empty-calls-spread-a-split-matrix.md
"""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

from freestone.client import Client
from freestone.client.future import Future
from freestone.lang.run.distributed.split import rows_of
from freestone.observe.workers import worker_number

__all__ = ["Sent"]


class Sent:
    """Blocks of matrices that are here, by matrix; they go when the matrix does.

    Parameters
    ----------
    cluster : Cluster
        Where they are sent.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[int, tuple[weakref.ref[Any], dict[Any, list[Future]]]] = {}

    def whole(self, value: Any) -> Any:
        """Return a block for a whole matrix; what is small, or a scalar, as it is."""
        nbytes = getattr(value, "nbytes", None)
        if hasattr(value, "indptr"):
            nbytes = value.cells.nbytes + value.indices.nbytes + value.indptr.nbytes
        elif not hasattr(value, "shape"):
            return value
        if nbytes is not None and nbytes <= self._client.config.inline_nbytes:
            return value
        blocks = self._blocks_of(value)
        if None not in blocks:
            blocks[None] = [self._client.put(value)]
        return blocks[None][0]

    def blocks(self, value: Any, offsets: tuple[int, ...]) -> list[Future]:
        """Return blocks of a matrix, cut at certain rows."""
        known = self._blocks_of(value)
        if offsets not in known:
            # COO matrices are cut as CSR.
            rows = value.tocsr() if hasattr(value, "tocsr") else value
            pairs = pairwise(offsets)
            known[offsets] = [self._client.put(rows_of(rows, a, b)) for a, b in pairs]
            self._spread(known[offsets])
        return known[offsets]

    def _spread(self, blocks: list[Future]) -> None:
        """Share blocks out over the workers, so that calls find them evenly there.

        Each is brought to its worker by a call that does nothing. The blocks that were put stay, so
        that none is lost with a worker.
        """
        workers = [
            worker_number(worker["worker"])
            for worker in self._client.workers()
            for _ in range(worker["slots"])
            if not worker["leaving"]
        ]
        if len(set(workers)) < 2:
            return
        number = self._client.define(nothing, "bring")
        share = len(workers) / len(blocks)
        calls = [
            self._client.call(
                number, (block,), {"worker": workers[int(at * share)], "pure": False}, 1
            )
            for at, block in enumerate(blocks)
        ]
        for call in calls:
            # A worker that went away meanwhile brings nothing, and nothing depends on it.
            call.exception()

    def forget(self, value: Any) -> None:
        """Forget a matrix that may change."""
        self._known.pop(id(value), None)

    def _blocks_of(self, value: Any) -> dict[Any, list[Future]]:
        key = id(value)
        found = self._known.get(key)
        if found is not None and found[0]() is value:
            return found[1]
        renewed: dict[Any, list[Future]] = {}
        known = self._known
        gone = weakref.ref(value, lambda _: known.pop(key, None))
        known[key] = (gone, renewed)
        return renewed


def nothing(block: Any) -> None:
    """Do nothing where a block is."""
