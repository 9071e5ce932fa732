"""Names of clusters on this machine: each belongs to one running cluster at most."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path

from freestone.errors import NameTakenError, UsageError

__all__ = ["HeldName"]

GRACE_S = 2.0
"""A process that was killed keeps its locks until the last of its threads has ended."""
_INTERVAL_S = 0.02
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class HeldName:
    """A name that no other cluster of this user gets while this process holds it.

    Parameters
    ----------
    runtime : path
        The folder in which each cluster of this user has its own.
    name : str
        Letters, digits, ``.``, ``_`` and ``-``.

    Raises
    ------
    UsageError
        When it can't be a name.
    NameTakenError
        When a running cluster has it, also after two seconds.

    Notes
    -----
    The lock of a file of that name is held: it ends with the process, however that ends.
    """

    def __init__(self, runtime: Path, name: str) -> None:
        if not _FORM.fullmatch(name):
            problem = f"{name!r} can't be the name of a cluster"
            raise UsageError(f"{problem}; use up to 64 letters, digits, '.', '_' and '-'")
        self.name: str = name
        self._path = runtime / f"{name}.name"
        self._descriptor = self._lock()

    def _lock(self) -> int:
        end = time.monotonic() + GRACE_S
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                if time.monotonic() < end:
                    time.sleep(_INTERVAL_S)
                    continue
                raise NameTakenError(what="cluster", name=self.name) from None
            # Whoever had it may have removed the file between the two lines.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
                    return descriptor
            os.close(descriptor)

    def release(self) -> None:
        """Let others have the name."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def forget(self) -> None:
        """In a child of the process that holds it: leave it to that one."""
        os.close(self._descriptor)
