"""Tasks that wait for others: they take no cores meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from freestone import _native, functions

__all__ = ["IN_TASK", "paused"]

IN_TASK: bool = functions.in_executor() and "FREESTONE__APART" not in os.environ
"""Whether this process runs calls whose waiting their worker hears of."""


MAX_SHOWN = 200
"""So many characters of what is waited for are shown."""


@contextmanager
def paused(what: str) -> Iterator[None]:
    """Take nothing while this thread of a task waits for others, and take it again at the end.

    What the task takes (cores, GPUs, memory, disk) is for others until then. Returns once it is the
    task's own again.

    Parameters
    ----------
    what
        It waits for, for people.
    """
    sequence = _native.executor.begin_wait(what[:MAX_SHOWN])
    try:
        yield
    finally:
        if sequence is not None:
            _native.executor.end_wait(sequence)
