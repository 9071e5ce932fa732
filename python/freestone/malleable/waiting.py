"""Waiting for other ranks so that whoever shares the core can work, and never for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from freestone.errors import ResizeTimeoutError

__all__ = ["wait_all", "wait_until"]

# A look costs about a microsecond; whoever answers at once is not kept waiting.
_LOOKS = 20
_FIRST_S, _LONGEST_S = 20e-6, 1e-3


def wait_until(is_done: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Look until something is done, and sleep ever longer in between, up to a millisecond.

    MPI's own waits poll, and take half of a core from whoever computes on it.

    Raises
    ------
    ResizeTimeoutError
        If it is not done in time.
    """
    deadline = time.monotonic() + timeout_s
    looks, pause = 0, _FIRST_S
    while not is_done():
        looks += 1
        if looks <= _LOOKS:
            time.sleep(0)
            continue
        if time.monotonic() > deadline:
            problem = (
                f"{what} was not done after {timeout_s:g} s; has a rank ended, or does it not "
                "reach the head of its step (give a larger timeout_s)?"
            )
            raise ResizeTimeoutError(problem, timeout_s=timeout_s)
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_S)


def wait_all(requests: Sequence[Any], timeout_s: float, what: str) -> None:
    """Wait for all of MPI's requests."""
    left = list(requests)

    def is_done() -> bool:
        # One by one: Testall on many requests was seen to fail with MPICH.
        left[:] = [request for request in left if not request.Test()]
        return not left

    wait_until(is_done, timeout_s, what)
