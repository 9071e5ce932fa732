"""What a process under a launcher such as `mpiexec` has printed, before its job is aborted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
import termios
import time

__all__ = ["await_launcher"]

# A launcher that takes longer reads nothing any more.
_TIMEOUT_S = 10.0
_PAUSE_S = 1e-3


def await_launcher() -> None:
    """Flush what was printed, and wait until the launcher has read it.

    When a job is aborted, the launcher drops what it has not read: the reason, as a rule.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    deadline = time.monotonic() + _TIMEOUT_S
    while any(map(_unread_nbytes, (1, 2))) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _unread_nbytes(descriptor: int) -> int:
    """Return how many bytes nobody has read yet, if it is a pipe."""
    try:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return 0
        found = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    except OSError:
        return 0
    return int.from_bytes(found, sys.byteorder)
