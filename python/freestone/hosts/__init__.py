"""Hosts: the engines that start workers somewhere and know when they come and go.

See docs/decisions/008-the-programs-own-worker-runs-no-calls-on-a-host.md
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Loaded when they are first used: a worker needs the access file and no more.
_HOMES = {"Access": "access"} | dict.fromkeys(
    ("Host", "end", "launch", "listen_towards", "words"), "engine"
)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"freestone.hosts.{_HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"freestone.hosts.{name}")
    raise AttributeError(f"module 'freestone.hosts' has no attribute {name!r}", name=name)
