"""Calls that all ranks make together, outside of the head of a step: who does not come is named.

Each rank reports to rank 0 what it comes for. Rank 0 answers once all have come for the same, or
else sends all of them the reason. A rank that does not come may be at the head of a step, where it
waits for the others: it looks for that message, and rank 0 for ranks that have come elsewhere.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from freestone.errors import MalleableError, RegistrationError, ResizeTimeoutError
from freestone.malleable.waiting import wait_until

__all__ = ["Call", "Lookout", "require_all"]

_TAG_CALL, _TAG_ANSWER = 81, 82
# Rank 0 may have seen later than others that one is missing.
_GRACE_S = 10.0


@dataclass(frozen=True)
class Call:
    """What a rank comes for.

    Attributes
    ----------
    what : str
        Such as ``"registers 'x'"``.
    name : str
        The data's.
    step : int
        Steps done.
    problem : str
        Why this rank can't make the call.
    """

    what: str
    name: str
    step: int
    problem: str = ""


def require_all(comm: Any, mine: Call, timeout_s: float) -> None:
    """Wait until all ranks have come for the same.

    Raises
    ------
    RegistrationError
        On all ranks, if one has come for something else, or can't make the call.
    ResizeTimeoutError
        On all ranks that wait, at the head of a step too, if one does not come in time.
    """
    if comm.rank == 0:
        answer = _collected(comm, mine, timeout_s)
        _answer(comm, answer)
    else:
        comm.send(mine, 0, _TAG_CALL)
        try:
            wait_until(lambda: _has(comm, _TAG_ANSWER), timeout_s + _GRACE_S, mine.what)
        except ResizeTimeoutError:
            raise _late(mine, comm.rank, [0], timeout_s) from None
        answer = comm.recv(source=0, tag=_TAG_ANSWER)
    if answer is not None:
        raise answer


class Lookout:
    """What a rank that waits at the head of a step sees of those that have come elsewhere.

    Parameters
    ----------
    comm : mpi4py communicator
        Of all ranks.
    timeout_s : float
        How long one that has come elsewhere may wait.
    """

    def __init__(self, comm: Any, timeout_s: float) -> None:
        self._comm, self._timeout_s = comm, timeout_s
        self._since: float | None = None

    def look(self) -> None:
        """Look once.

        Raises
        ------
        MalleableError
            If ranks can't come together any more; the same on all that wait.
        """
        comm = self._comm
        if comm.rank > 0:
            if _has(comm, _TAG_ANSWER):
                raise comm.recv(source=0, tag=_TAG_ANSWER)
            return
        if not _has(comm, _TAG_CALL):
            return
        # The head of this step may just be over, and the call that of a later place.
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since > self._timeout_s:
            calls = _taken(comm)
            rank, call = min(calls.items())
            missing = [other for other in range(comm.size) if other not in calls]
            error = _late(call, rank, missing, self._timeout_s)
            _answer(comm, error)
            raise error


def _collected(comm: Any, mine: Call, timeout_s: float) -> MalleableError | None:
    """Return what rank 0 answers: nothing if all have come for the same."""
    calls = {0: mine}

    def are_all_there() -> bool:
        calls.update(_taken(comm))
        return len(calls) == comm.size or any(_differ(mine, call) for call in calls.values())

    try:
        wait_until(are_all_there, timeout_s, mine.what)
    except ResizeTimeoutError:
        missing = [rank for rank in range(comm.size) if rank not in calls]
        return _late(mine, 0, missing, timeout_s)
    for rank, call in sorted(calls.items()):
        if call.problem:
            return _refused(call, rank)
        if _differ(mine, call):
            problem = (
                f"rank 0 {mine.what} at step {mine.step}, and rank {rank} {call.what} at step "
                f"{call.step}; register, replace and save the same on all ranks, in the same order"
            )
            return RegistrationError(problem, name=call.name)
    return None


def _differ(one: Call, other: Call) -> bool:
    return one.what != other.what or bool(one.problem or other.problem)


def _taken(comm: Any) -> dict[int, Call]:
    """Return the calls that have come, by rank."""
    from mpi4py import MPI

    found, status = {}, MPI.Status()
    while comm.iprobe(source=MPI.ANY_SOURCE, tag=_TAG_CALL, status=status):
        rank = status.Get_source()
        found[rank] = comm.recv(source=rank, tag=_TAG_CALL)
    return found


def _has(comm: Any, tag: int) -> bool:
    from mpi4py import MPI

    return bool(comm.iprobe(source=MPI.ANY_SOURCE, tag=tag))


def _answer(comm: Any, answer: MalleableError | None) -> None:
    for rank in range(1, comm.size):
        comm.send(answer, rank, _TAG_ANSWER)


def _refused(call: Call, rank: int) -> RegistrationError:
    return RegistrationError(f"rank {rank}: {call.problem}", name=call.name)


def _late(call: Call, rank: int, missing: list[int], timeout_s: float) -> MalleableError:
    if call.problem:
        return _refused(call, rank)
    who = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}"
    problem = (
        f"rank {rank} {call.what} at step {call.step}, and {who} did not come to do so in "
        f"{timeout_s:g} s; make the call on all ranks, at the same place, or give a larger "
        "timeout_s"
    )
    return ResizeTimeoutError(problem, timeout_s=timeout_s)
