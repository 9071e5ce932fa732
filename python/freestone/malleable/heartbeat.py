"""What all ranks tell each other at the head of each step.

One small all-reduce, posted at the head of a step and read at the head of the next one, so that
nobody waits for its way. It says at which step everyone is, what is asked for, and whether all are
ready for what comes next: so all ranks do the same thing at the head of the same step.

See docs/decisions/020-steps-synchronise-by-a-delayed-all-reduce.md
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import CheckpointSkippedError, ResizeTimeoutError
from freestone.malleable.gathering import Lookout
from freestone.malleable.waiting import wait_for_steps, wait_until

__all__ = ["Heartbeat", "Word", "where_ranks_are"]

_TAG_BREAK = 83
_SKIPPED = (
    "a rank has skipped the head of a step; let every rank run through the same steps, and leave "
    "the loop at the same one"
)
_OTHER_LOOP = (
    "a rank is in another loop over world.steps; let every rank run through the same loops, with "
    "the same number of steps in each"
)
_WHAT = "the head of a step on all ranks"
# How long to wait for the ranks that an error is to name, and how many of a kind are named.
_NAMING_S, _MAX_NAMED = 10.0, 8
# How long to wait at the end for what ranks have told that have left a loop in the same step.
_TAKING_S = 0.5


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
    loop : int
        The loop, counted from 0: another one may be at the same step.
    """

    step: int
    size: int = 0
    method: int = 0
    is_ready: bool = True
    has_failed: bool = False
    has_left: bool = False
    loop: int = 0

    def numbers(self) -> list[int]:
        """Return numbers of which the largest of all ranks tell all there is to know."""
        left = int(self.has_left)
        request = (self.size << 8) + self.method
        not_ready = int(not self.is_ready)
        both = [sign * number for number in (self.step, left, self.loop) for sign in (1, -1)]
        return [request, not_ready, int(self.has_failed), *both]

    @classmethod
    def together(cls, largest: list[int]) -> Word:
        """Return what all ranks say, from the largest of their numbers.

        Raises
        ------
        CheckpointSkippedError
            If they are not all at the same step of one loop, or in it.
        """
        request, not_ready, failed, high, low, left, stayed, last, first = largest
        if high != -low or left != -stayed:
            raise CheckpointSkippedError(_SKIPPED, steps=(-low, high))
        if last != -first:
            raise CheckpointSkippedError(_OTHER_LOOP, steps=(-low, high))
        size, method = request >> 8, request & 0xFF
        return cls(high, size, method, not not_ready, bool(failed), bool(left), last)


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
        self._all = np.empty(len(Word(0).numbers()), np.int64)
        self._breaks = _Breaks(comm)
        self.has_ended = False

    @property
    def is_out(self) -> bool:
        """Whether a word was posted and not read."""
        return self._request is not None

    def post(self, word: Word) -> None:
        """Tell the others."""
        from mpi4py import MPI

        self._word, self._mine = word, np.array(word.numbers(), np.int64)
        self._request = self._comm.Iallreduce(self._mine, self._all, MPI.MAX)

    def break_off(self, step: int) -> None:
        """Tell the others that this rank leaves a loop in the middle of a step."""
        self._breaks.tell(step)

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
            If they do not agree, or one that has left the loop does not come in time.
        MalleableError
            If a rank has come to another call in vain, on all that wait here.
        """
        lookout = Lookout(self._comm, self._timeout_s)
        if not self._request.Test():
            due = time.monotonic() + self._timeout_s

            def is_done() -> bool:
                if self._request.Test():
                    return True
                lookout.look()
                if time.monotonic() > due:
                    self._breaks.require_none(self._word.step)
                return False

            wait_for_steps(is_done, self._timeout_s, _WHAT)
        self._request = None
        try:
            found = Word.together(self._all.tolist())
        except CheckpointSkippedError as skipped:
            self.has_ended = True
            # Others may have left because of a call to which this rank did not come.
            lookout.look()
            problem = f"{self._where_ranks_are()}{skipped}"
            raise CheckpointSkippedError(problem, steps=skipped.steps) from None
        self.has_ended = found.has_left
        self._breaks.take(_TAKING_S if found.has_left else 0.0)
        return found

    def _where_ranks_are(self) -> str:
        """Return at which step each rank is and who has left; only of this one, if one is gone.

        All ranks call it together: each has read that they do not agree.
        """
        word = self._word
        mine = np.array([word.step, word.has_left, word.loop], np.int64)
        found = np.empty((self._comm.size, len(mine)), np.int64)
        request = self._comm.Iallgather(mine, found)
        try:
            wait_until(request.Test, min(self._timeout_s, _NAMING_S), _WHAT)
        except ResizeTimeoutError:
            return f"{_of_ranks([self._comm.rank], word.step, word.has_left, None)}: "
        places = [(int(step), bool(left), int(loop)) for step, left, loop in found]
        return where_ranks_are(places) + ": "


class _Breaks:
    """Who has left a loop in the middle of a step, which each rank tells the next one.

    One that goes on to a call of the program's, in which it waits for those that are still in the
    loop, says nothing else. Where some have left and some have not, there is one that has not
    whose predecessor has: it finds out, and ends the job. Ranks that all leave receive these
    messages, as MPI may warn of some that nobody receives.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._mine: set[int] = set()
        self._others: dict[int, int] = {}
        self._sent: list[Any] = []
        self._missing = 0

    def tell(self, step: int) -> None:
        self._mine.add(step)
        if self._comm.size == 1:
            return
        self._missing += 1
        word, following = np.array([step], np.int64), (self._comm.rank + 1) % self._comm.size
        self._sent.append((word, self._comm.Isend(word, following, _TAG_BREAK)))

    def take(self, timeout_s: float = 0.0) -> None:
        """Take what ranks tell that have left as well, and wait so long for it."""
        end = time.monotonic() + timeout_s
        while self._missing > 0:
            if not self._take_one() and time.monotonic() >= end:
                return
        self._sent.clear()

    def _take_one(self) -> bool:
        from mpi4py import MPI

        status, word = MPI.Status(), np.empty(1, np.int64)
        if not self._comm.Iprobe(source=MPI.ANY_SOURCE, tag=_TAG_BREAK, status=status):
            return False
        rank = status.Get_source()
        self._comm.Recv(word, rank, _TAG_BREAK)
        self._others[rank] = int(word[0])
        self._missing -= 1
        return True

    def require_none(self, step: int) -> None:
        """Raise if another rank has left in a step that this one, which is at `step`, went through.

        Raises
        ------
        CheckpointSkippedError
            It names the rank.
        """
        while self._take_one():
            pass
        for rank, left in sorted(self._others.items()):
            if left < step and left not in self._mine:
                where = f"rank {rank} has left the loop in step {left}"
                problem = f"{where}, and rank {self._comm.rank} is at step {step}: {_SKIPPED}"
                raise CheckpointSkippedError(problem, steps=(left, step))


def where_ranks_are(words: Sequence[tuple[int, bool, int]]) -> str:
    """Return where ranks are, given by rank the steps done, whether it has left, and the loop.

    Loops are named if those that have left none are in several. The step in which a rank has left
    by break counts as done, so it is the last one of its steps in either case.

    Examples
    --------
    >>> where_ranks_are([(4, False, 0), (4, False, 0), (5, False, 0), (4, True, 0)])
    'ranks 0 and 1 are at step 4, rank 2 is at step 5, rank 3 has left the loop in step 3'
    >>> where_ranks_are([(4, False, 0), (4, False, 1)])
    'rank 0 is at step 4 in loop 0, rank 1 is at step 4 in loop 1'
    """
    several = len({loop for _, has_left, loop in words if not has_left}) > 1
    places: dict[tuple[int, bool, int | None], list[int]] = {}
    for rank, (step, has_left, loop) in enumerate(words):
        named = loop if several and not has_left else None
        places.setdefault((step, has_left, named), []).append(rank)
    return ", ".join(_of_ranks(ranks, *word) for word, ranks in places.items())


def _of_ranks(ranks: Sequence[int], step: int, has_left: bool, loop: int | None) -> str:
    named = [str(rank) for rank in ranks[:_MAX_NAMED]]
    if len(ranks) > _MAX_NAMED:
        named.append(f"{len(ranks) - _MAX_NAMED} more")
    where = f"at step {step}" + ("" if loop is None else f" in loop {loop}")
    if has_left:
        where = f"left the loop in step {step - 1}" if step else "left the loop before step 0"
    if len(named) == 1:
        return f"rank {named[0]} {'has' if has_left else 'is'} {where}"
    what = "have" if has_left else "are"
    return f"ranks {', '.join(named[:-1])} and {named[-1]} {what} {where}"
