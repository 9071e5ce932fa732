"""Collectives that leave the core to others while they wait.

MPI's own poll. Where there are more processes than cores, whoever is waited for then gets its turn
only when the time slice of one that polls is over: milliseconds, for a message of microseconds.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.malleable.waiting import MAX_S, wait_until

__all__ = ["duplicates", "gather_all", "largest", "meet", "pickled", "sum_up", "tell"]


def meet(comm: Any, timeout_s: float, what: str, longest_s: float = MAX_S) -> None:
    """Wait until all ranks of a communicator are here."""
    wait_until(comm.Ibarrier().Test, timeout_s, what, longest_s)


def sum_up(comm: Any, value: int, timeout_s: float, what: str) -> int:
    """Return the sum of all ranks' values."""
    mine, total = np.array([value], np.int64), np.empty(1, np.int64)
    wait_until(comm.Iallreduce(mine, total).Test, timeout_s, what)
    return int(total[0])


def largest(
    comm: Any, values: npt.NDArray[np.int64], timeout_s: float, what: str
) -> npt.NDArray[np.int64]:
    """Return the largest of all ranks' values, one by one."""
    from mpi4py import MPI

    found = np.empty_like(values)
    wait_until(comm.Iallreduce(values, found, MPI.MAX).Test, timeout_s, what)
    return found


def tell(comm: Any, value: Any, timeout_s: float, what: str, root: int = 0) -> Any:
    """Return what one rank gives, anything that can be pickled; others may give anything."""
    packed = _pack(value if comm.rank == root else None)
    size = np.array([len(packed)], np.int64)
    wait_until(comm.Ibcast(size, root=root).Test, timeout_s, what)
    if comm.rank != root:
        packed = np.empty(int(size[0]), np.uint8)
    wait_until(comm.Ibcast(packed, root=root).Test, timeout_s, what)
    return pickle.loads(packed.tobytes())


def gather_all(comm: Any, value: Any, timeout_s: float, what: str) -> list[Any]:
    """Return what each rank gives, anything that can be pickled, by rank."""
    packed = _pack(value)
    sizes = np.empty(comm.size, np.int64)
    mine = np.array([len(packed)], np.int64)
    wait_until(comm.Iallgather(mine, sizes).Test, timeout_s, what)
    whole = np.empty(int(sizes.sum()), np.uint8)
    request = comm.Iallgatherv(packed, [whole, sizes.tolist()])
    wait_until(request.Test, timeout_s, what)
    parts = np.split(whole, np.cumsum(sizes)[:-1])
    return [pickle.loads(part.tobytes()) for part in parts]


def duplicates(comm: Any, count: int, timeout_s: float, what: str) -> list[Any]:
    """Return so many duplicates of a communicator."""
    pairs = [comm.Idup() for _ in range(count)]
    for _, request in pairs:
        wait_until(request.Test, timeout_s, what)
    return [duplicate for duplicate, _ in pairs]


def pickled(value: Any) -> tuple[bytes, str]:
    """Return a value as other ranks get it, or why they can't have it."""
    try:
        return pickle.dumps(value), ""
    except Exception as error:
        return b"", f"{type(error).__name__}: {error}"


def _pack(value: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(bytearray(pickle.dumps(value)), np.uint8)
