"""The functions that are called: in a module, so that every system ships them its own way."""

from __future__ import annotations

import os
import time


def noop(_: object = None) -> None:
    """Do nothing."""


def increment(value: int) -> int:
    """Return the next number: a step of a chain."""
    return value + 1


def add(left: int, right: int) -> int:
    """Return a sum: a node of a tree."""
    return left + right


def linger(seconds: float) -> int:
    """Keep a worker busy for a while and return its process id, to see that all are up."""
    time.sleep(seconds)
    return os.getpid()
