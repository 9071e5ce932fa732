"""Waiting for what other processes do, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 60
# Processes that are waited for need the processor: a loop without a pause would take it from them.
POLL_INTERVAL_S = 0.002


def until(condition: Callable[[], object]) -> bool:
    """Look again and again until a condition holds; False when a minute has passed."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_INTERVAL_S)
    return True
