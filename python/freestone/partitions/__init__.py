"""Partitions of collections: calls that don't depend on how many blocks there are.

See docs/decisions/052-partitions-are-a-layer-below-the-surfaces.md
"""

from __future__ import annotations

from freestone.partitions.holders import Holders
from freestone.partitions.partition import Partition
from freestone.partitions.placement import Placement
from freestone.partitions.splitting import split

__all__ = ["Holders", "Partition", "Placement", "split"]
