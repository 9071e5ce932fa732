"""Workers whose manager was killed, and that wait for another process to go on with it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from pathlib import Path

from freestone import _native

__all__ = ["Survivor", "survivor"]

_MARKER = "freestone.lock"


class Survivor:
    """A worker that another process has started; it has what is needed of a `subprocess.Popen`.

    Parameters
    ----------
    pid
        Its process id.

    Raises
    ------
    ProcessLookupError
        When there is no such process.

    Notes
    -----
    How it ends is known to nobody but the process that started it, and told as status 0.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return 0 if it has ended, else None."""
        return 0 if self._has_ended(0.0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(f"worker with pid {self.pid}", timeout or 0.0)
        return 0

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def _has_ended(self, timeout_s: float | None) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else 1000 * timeout_s))

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._descriptor)


def survivor(memory_dir: str) -> Survivor | None:
    """Return the worker that has a cache folder, if one lives."""
    if not _native.folders.is_folder_in_use(memory_dir):
        return None
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = (Path(memory_dir) / _MARKER).read_text("utf-8").splitlines()
        return Survivor(int(next(line[4:] for line in lines if line.startswith("pid "))))
    return None
