"""Hosts: the engines that start workers somewhere and know when they come and go.

See docs/decisions/008-the-programs-own-worker-runs-no-calls-on-a-host.md
"""

from __future__ import annotations

from freestone.hosts import engine, local, node
from freestone.hosts.engine import Host

__all__ = ["Host", "engine", "local", "node"]
