"""Clusters as users have them: `Cluster` opens one, and `current` returns the one that is open."""

from freestone.client.waiting import as_completed, wait
from freestone.cluster.cluster import Cluster
from freestone.cluster.connected import connect
from freestone.cluster.nested import current
from freestone.cluster.performance import performance_report
from freestone.cluster.session import Session

__all__ = ["Cluster", "Session", "as_completed", "connect", "current", "performance_report", "wait"]
