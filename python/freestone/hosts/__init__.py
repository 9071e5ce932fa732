"""Hosts: the engines that start workers somewhere and know when they come and go."""

from __future__ import annotations

from freestone.hosts import engine, local, node
from freestone.hosts.engine import Host

__all__ = ["Host", "engine", "local", "node"]
