"""What `Cluster` has for programs that run as ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["OnRanks", "offer_spmd"]

_spmd: Callable[..., Any] | None = None


def offer_spmd(function: Callable[..., Any]) -> None:
    """Have `Cluster.spmd` call `function`: it is made of what stands above this module."""
    global _spmd
    _spmd = function


class OnRanks:
    """Programs that run as ranks, on the workers of a cluster."""

    def spmd(
        self,
        main: Callable[..., Any],
        ranks: int | None = None,
        *,
        args: Sequence[Any] = (),
        each: Sequence[Sequence[Any]] | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Run a program as ranks on the workers, all at the same time, and wait for its end.

        Parameters
        ----------
        main : callable
            Called on every rank with its `freestone.events.Rank`, `args`, and its own of `each`.
        ranks : int, optional
            How many; by default one on each executor. Each takes an executor until the end.
        args : sequence
            More arguments, the same on every rank. Futures and blocks in them, however deep, are
            what they stand for: arrays are read-only views of the cache of the rank's node.
        each : sequence of sequences, optional
            More arguments for each rank, by rank: for instance partitions.
        **settings
            ``progress``, ``spin_us``, ``arena``, ``stuck_s`` and ``send_timeout_s`` of
            `freestone.events.run`, and ``workers``: how many tasks of a rank run at the same time.

        Returns
        -------
        list
            What `main` returned on each rank.

        Raises
        ------
        ConfigurationError
            If there are not enough executors for all ranks to run at the same time.
        Exception
            What `freestone.events.run` raises.

        Notes
        -----
        Ranks on one machine exchange events through shared memory; on several, by TCP with mutual
        TLS and a certificate made for the run.

        Examples
        --------
        >>> import freestone as fs
        >>> from freestone import events as ev
        >>> def main(rank, value):
        ...     rank.fire(0, "part", value + rank.id)
        ...     if rank.id == 0:
        ...         return sum(event.data for event in rank.wait([(ev.ALL, "part")]))
        >>> with fs.Cluster(workers=2) as cluster:
        ...     cluster.spmd(main, ranks=2, args=[cluster.submit(pow, 2, 10)])
        [2049, None]
        """
        if _spmd is None:
            raise RuntimeError("import freestone.events first: it has what runs ranks")
        results: list[Any] = _spmd(self, main, ranks, args, each, settings)
        return results
