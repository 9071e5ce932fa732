"""Waiting for what other processes do, with an end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

DEADLINE_S = 60


def until(condition: Callable[[], object]) -> bool:
    """Look again and again until a condition holds; False when a minute has passed."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True
