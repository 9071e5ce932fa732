"""A partition as a little HTML: which part of its collection it is. Waits for nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from freestone.collections.reprs import card, stripes
from freestone.units import format_nbytes

if TYPE_CHECKING:
    from freestone.partitions.dask import DaskPartition
    from freestone.partitions.partition import Partition

__all__ = ["partition_html"]


def partition_html(partition: Partition | DaskPartition) -> str:
    """Give a partition's HTML: its facts, and the rows it has of those up to its last."""
    where = f" on {escape(partition.worker)}" if partition.worker else ""
    noun = "block" if len(partition) == 1 else "blocks"
    facts = f"<b>Partition</b>{where}: {len(partition):,} {noun}, "
    if partition._positions.grid:
        return card(f"{facts}{format_nbytes(partition.nbytes)}")
    facts += f"{partition.rows:,} rows, {format_nbytes(partition.nbytes)}"
    parts, at = [], 0
    for run in partition.item_indexes:
        parts += [("elsewhere", run.start - at, False), (_label(run), len(run), True)]
        at = run.stop
    return card(f"{facts}{stripes([part for part in parts if part[1]])}")


def _label(run: range) -> str:
    return f"rows {run.start:,} to {run.stop - 1:,}"
