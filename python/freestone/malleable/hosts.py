"""Which processes can map each other's memory, and see each other."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path

__all__ = ["host_name"]


@functools.cache
def host_name() -> str:
    """Return a name that processes have in common exactly if they can map each other's memory."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        parts.append(str(os.getpid()))
    return "/".join(parts)
