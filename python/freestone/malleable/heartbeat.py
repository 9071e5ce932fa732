"""What all ranks tell each other at the head of each step.

One small all-reduce, posted at the head of a step and read at the head of the next one, so that
nobody waits for its way. It says at which step everyone is, what is asked for, and whether all are
ready for what comes next: so all ranks do the same thing at the head of the same step.

See docs/decisions/020-steps-synchronise-by-a-delayed-all-reduce.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import CheckpointSkippedError, ResizeTimeoutError
from freestone.malleable.gathering import Lookout
from freestone.malleable.waiting import wait_for_steps, wait_until

__all__ = ["Heartbeat", "Word"]

_WHAT = "the head of a step on all ranks"


@dataclass(frozen=True)
class Word:
    """What one rank says, or all together.

    Attributes
    ----------
    step : int
        Steps done.
    size : int
        How many processes are asked for; 0 for nothing.
    method : int
        Index of the method that goes with it.
    is_ready : bool
        Whether what goes on in the background is done.
    has_failed : bool
        Whether it has failed.
    has_left : bool
        Whether the loop is over.
    """

    step: int
    size: int = 0
    method: int = 0
    is_ready: bool = True
    has_failed: bool = False
    has_left: bool = False

    def numbers(self) -> list[int]:
        """Return numbers of which the largest of all ranks tell all there is to know."""
        left = int(self.has_left)
        request = (self.size << 8) + self.method
        not_ready = int(not self.is_ready)
        return [self.step, -self.step, request, not_ready, int(self.has_failed), left, -left]

    @classmethod
    def together(cls, largest: list[int]) -> Word:
        """Return what all ranks say, from the largest of their numbers.

        Raises
        ------
        CheckpointSkippedError
            If they are not all at the same step, or in the loop.
        """
        high, low, request, not_ready, failed, left, stayed = largest
        if high != -low or left != -stayed:
            problem = (
                f"ranks are at steps {-low} to {high}"
                + (", and some have left the loop" if left != -stayed else "")
                + ": one has skipped the head of a step; let every rank run through the same "
                "steps, and leave the loop at the same one"
            )
            raise CheckpointSkippedError(problem, steps=(-low, high))
        return cls(high, request >> 8, request & 0xFF, not not_ready, bool(failed), bool(left))


class Heartbeat:
    """Exchanges words over a communicator that serves nothing else.

    Attributes
    ----------
    has_ended : bool
        Whether all ranks have left the loop, or know that one has.
    """

    def __init__(self, comm: Any, timeout_s: float) -> None:
        self._comm = comm
        self._timeout_s = timeout_s
        self._request: Any = None
        self._all = np.empty(7, np.int64)
        self.has_ended = False

    @property
    def is_out(self) -> bool:
        """Whether a word was posted and not read."""
        return self._request is not None

    def post(self, word: Word) -> None:
        """Tell the others."""
        from mpi4py import MPI

        self._mine = np.array(word.numbers(), np.int64)
        self._request = self._comm.Iallreduce(self._mine, self._all, MPI.MAX)

    def meet(self, word: Word) -> Word:
        """Tell the others, and wait for all of them."""
        self.post(word)
        return self.read()

    def is_left_by_all(self, word: Word, timeout_s: float) -> bool:
        """Tell whether all ranks know that the loop is over: all have left it, or see that one has.

        Parameters
        ----------
        word : Word
            With which this rank leaves.
        timeout_s : float
            How long to wait for the others, each time.
        """
        try:
            while not self.has_ended:
                if not self.is_out:
                    self.post(word)
                wait_until(self._request.Test, timeout_s, _WHAT)
                self.read()
        except CheckpointSkippedError:
            return True
        except ResizeTimeoutError:
            return False
        return True

    def read(self) -> Word:
        """Wait for what all have posted.

        Raises
        ------
        CheckpointSkippedError
            If they do not agree.
        MalleableError
            If a rank has come to another call in vain, on all that wait here.
        """
        lookout = Lookout(self._comm, self._timeout_s)
        if not self._request.Test():

            def is_done() -> bool:
                if self._request.Test():
                    return True
                lookout.look()
                return False

            wait_for_steps(is_done, self._timeout_s, _WHAT)
        self._request = None
        try:
            found = Word.together(self._all.tolist())
        except CheckpointSkippedError:
            self.has_ended = True
            # Others may have left because of a call to which this rank did not come.
            lookout.look()
            raise
        self.has_ended = found.has_left
        return found
