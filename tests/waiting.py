"""Waiting for what other processes do, with an end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

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


def stop_process(pid: int) -> None:
    """Stop a process, and wait until none of its threads runs: a signal takes its time."""
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task")
    assert until(lambda: all(state_of(thread.name) == "T" for thread in threads.iterdir()))


def state_of(pid: int | str) -> str:
    """Return a letter for what a process or thread does: "R" runs, "T" is stopped, "Z" has ended.

    Raises
    ------
    FileNotFoundError, ProcessLookupError
        When there is none.
    """
    # The name before the state may hold spaces and brackets.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
