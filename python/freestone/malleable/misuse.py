"""What a program hears that leaves its World by an error, or keeps what a resize has replaced."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterable

from freestone.hosts.printed import await_launcher
from freestone.malleable.arrays import Array

__all__ = ["TIMEOUT_S", "is_good", "report", "warn_of_stale"]

_log = logging.getLogger("freestone.malleable")

# How long a rank that ends by an error waits for the others to do so, too.
TIMEOUT_S = 10.0
_HINT = (
    "hint: after a resize world.comm and the local rows are others; take them anew in each step, "
    "from world.comm and from the array's local"
)


def is_good(error: BaseException) -> bool:
    """Tell whether an exception is an end that was meant."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def report(error: BaseException, *, was_resized: bool) -> None:
    """Print an error that ends the job, before it does."""
    traceback.print_exception(error)
    if was_resized and _is_stale(error):
        print(_HINT, file=sys.stderr)
    await_launcher()


def warn_of_stale(arrays: Iterable[Array]) -> None:
    """Warn of views that a program still has after a whole step on another layout."""
    for array in arrays:
        if array.is_held_from_before():
            _log.warning(
                "a view of %r from before the resize is still held after a step: rows of it that "
                "are another rank's by now are not what it shows, and writes into them are lost; "
                "take %r.local anew in each step",
                array.name,
                array.name,
            )


def _is_stale(error: BaseException) -> bool:
    """Tell whether an error is what becomes of rows or a communicator of before a resize."""
    from mpi4py import MPI

    if isinstance(error, MPI.Exception):
        return bool(error.Get_error_class() == MPI.ERR_COMM)
    return isinstance(error, ValueError) and "read-only" in str(error)
