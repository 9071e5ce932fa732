"""Hosts: the engines that start workers somewhere and know when they come and go.

See docs/decisions/008-the-programs-own-worker-runs-no-calls-on-a-host.md
"""

from __future__ import annotations

from freestone.hosts import engine, local, node
from freestone.hosts.access import Access
from freestone.hosts.engine import Host, end, launch, listen_towards, words

__all__ = [
    "Access",
    "Host",
    "end",
    "engine",
    "launch",
    "listen_towards",
    "local",
    "node",
    "words",
]
