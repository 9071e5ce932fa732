"""Clusters as users have them: `Cluster` opens one, and `current` returns the one that is open."""

from freestone.client.waiting import as_completed, wait
from freestone.cluster.cluster import Cluster, current
from freestone.cluster.session import Session

__all__ = ["Cluster", "Session", "as_completed", "current", "wait"]
