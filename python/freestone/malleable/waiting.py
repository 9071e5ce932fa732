"""Waiting for other ranks so that whoever shares the core can work, and never for ever."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable

from freestone.errors import ResizeTimeoutError

__all__ = ["MAX_S", "wait_for_steps", "wait_until"]

_log = logging.getLogger("freestone.malleable")

# A look costs about a microsecond; whoever answers at once is not kept waiting.
_LOOKS = 20
# A look that took longer has moved data, and there may be more.
_MOVED_S = 50e-6
_FIRST_S, MAX_S = 20e-6, 1e-3


def wait_until(
    is_done: Callable[[], bool],
    timeout_s: float,
    what: str | Callable[[], str],
    longest_s: float = MAX_S,
) -> None:
    """Look until something is done, and sleep ever longer in between.

    MPI's own waits poll, and take half of a core from whoever computes on it.

    Parameters
    ----------
    is_done : callable
        What to look at.
    timeout_s : float
        How long to look.
    what : str or callable
        For the error; a function is called only then.
    longest_s : float
        The longest sleep; 0 to leave the core only to who waits for it.

    Raises
    ------
    ResizeTimeoutError
        If it is not done in time.
    """
    began = time.monotonic()
    deadline = began + timeout_s
    looks, pause = 0, _FIRST_S
    while not is_done():
        now = time.monotonic()
        if now > deadline:
            named = what if isinstance(what, str) else what()
            problem = (
                f"{named} was not done after {timeout_s:g} s; has a rank ended, or does it not "
                "reach the head of its step (give a larger timeout_s)?"
            )
            raise ResizeTimeoutError(problem, timeout_s=timeout_s)
        looks = looks + 1 if now - began < _MOVED_S else 0
        if looks <= _LOOKS or not longest_s:
            pause = _FIRST_S
            os.sched_yield()
        else:
            time.sleep(min(pause, longest_s))
            pause *= 1.5
        began = time.monotonic()


def wait_for_steps(is_done: Callable[[], bool], report_s: float, what: str) -> None:
    """Look until something is done that others do between two steps, however long theirs take.

    Who has ended is known otherwise: the launcher ends a job that loses a process, and a rank that
    leaves the loop says so. So a rank that does not come is at work.

    Parameters
    ----------
    is_done : callable
        What to look at.
    report_s : float
        After how long, and so long again, it is logged that this rank waits.
    what : str
        For the log.
    """
    began = time.monotonic()
    due = began + report_s

    def is_done_or_reported() -> bool:
        nonlocal due
        if is_done():
            return True
        if time.monotonic() > due:
            due += report_s
            _log.warning("waiting for %s, for %.0f s by now", what, time.monotonic() - began)
        return False

    wait_until(is_done_or_reported, math.inf, what)
