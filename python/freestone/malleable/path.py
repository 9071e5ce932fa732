"""What a joining rank needs in order to run the program up to the loop that the others are in."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from freestone.errors import JoiningError
from freestone.malleable import together

__all__ = ["Once", "Path", "call_once", "label_of", "not_joined"]


@dataclass(frozen=True)
class Once:
    """What one call of `World.once` has returned.

    Attributes
    ----------
    loop : int
        The loop that came next.
    label : str
        The function's name.
    packed : bytes
        The result of rank 0, pickled.
    """

    loop: int
    label: str
    packed: bytes


@dataclass(frozen=True)
class Path:
    """Where a joining rank has to get to, and what it finds on its way.

    Attributes
    ----------
    loop : int
        The loop that the others are in, counted from 0.
    names : tuple of str
        What is registered.
    results : tuple of Once
        What was called once so far.
    """

    loop: int
    names: tuple[str, ...]
    results: tuple[Once, ...]

    def result(self, call: int, loop: int, label: str, who: str, others: str) -> Any:
        """Return what the others got from a call.

        Parameters
        ----------
        call : int
            Calls of this process before.
        loop : int
            The loop that comes next.
        label : str
            The function's name.
        who, others : str
            Who calls, and who has called before, for the error.

        Raises
        ------
        JoiningError
            If the others have not made that call.
        """
        done = self.results[call] if call < len(self.results) else None
        if done is None or (done.loop, done.label) != (loop, label):
            theirs = f"{done.label} before loop {done.loop}" if done else "no further one"
            raise JoiningError(
                f"{who} calls {label} once before loop {loop}, where {others} have "
                f"called {theirs}; let every rank take the same way through the program"
            )
        return pickle.loads(done.packed)


def label_of(function: Callable[..., Any]) -> str:
    """Return by what name a function is known on all ranks."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def _packed(value: Any, label: str) -> tuple[bytes, str]:
    """Return a result as joining ranks get it, and why it can't be had, if it can't."""
    packed, why = together.pickled(value)
    if not why:
        return packed, ""
    return packed, (
        f"what {label} returned on rank 0, a {type(value).__qualname__}, can't be sent to "
        f"joining ranks ({why}); return data, or make it under 'if not world.is_joining:'"
    )


def call_once(comm: Any, loop: int, function: Callable[[], Any]) -> tuple[Once, Any]:
    """Call a function on all ranks; return what is kept of it, and rank 0's result.

    Raises
    ------
    JoiningError
        On all ranks, if that can't be pickled.
    """
    label = label_of(function)
    value = function()
    mine = _packed(value, label) if comm.rank == 0 else None
    data, problem = together.tell(comm, mine, math.inf, f"the result of {label}")
    if problem:
        raise JoiningError(problem)
    return Once(loop, label, data), value if comm.rank == 0 else pickle.loads(data)


def not_joined(what: str) -> JoiningError:
    """Return the error for what a joining rank can't know or have yet."""
    return JoiningError(
        f"{what} is used by a joining rank, or after a restart, before it has come to the loop "
        "that the others are, or were, in; up to there it has neither rows, values nor ranks: make "
        "what it needs by "
        "world.once(f), whose result it gets, and put the rest under 'if not world.is_joining:'"
    )
