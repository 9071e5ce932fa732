"""Memory that keeps every row at one address for as long as a job lives.

An array's bytes have global positions, from 0 to what all ranks hold together. A process reserves
addresses for all of them and touches only the pages of its own rows. So rows that stay are never
copied, rows that come are written where they belong, and rows that come back find their pages
warm: it is fresh pages, not MPI, that a resize on one machine costs.

Constant data may lie in memory that the processes of a host share: then their rows change hands
without moving.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Handle", "Storage"]

_PAGE = mmap.PAGESIZE
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_REMOVE = getattr(mmap, "MADV_REMOVE", 9)

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Handle:
    """Where a process of the same host finds shared memory: an open file of another one."""

    host: str
    pid: int
    descriptor: int


class Storage:
    """Addresses for all bytes of an array, of which only some are touched.

    Parameters
    ----------
    nbytes : int
        Of all rows on all ranks.
    handle : Handle, optional
        Shared memory to map; otherwise new memory.
    shared : bool
        Whether new memory can be mapped by other processes of this host.
    """

    def __init__(self, nbytes: int, *, handle: Handle | None = None, shared: bool = False) -> None:
        self.nbytes = nbytes
        self._descriptor = -1
        size = max(nbytes, 1)
        if handle is not None:
            self._descriptor = os.open(f"/proc/{handle.pid}/fd/{handle.descriptor}", os.O_RDWR)
        elif shared:
            self._descriptor = os.memfd_create("freestone")
            os.ftruncate(self._descriptor, size)
        self.is_shared = self._descriptor >= 0
        flags = mmap.MAP_SHARED if self.is_shared else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._map = mmap.mmap(self._descriptor, size, flags | _NORESERVE)
        self._bytes: Bytes = np.frombuffer(self._map, np.uint8)[:nbytes]

    def __del__(self) -> None:
        # The map itself lives as long as views of it do.
        if getattr(self, "_descriptor", -1) >= 0:
            os.close(self._descriptor)

    def handle(self, host: str) -> Handle:
        """Return what another process of `host` maps this by, while this process lives."""
        return Handle(host, os.getpid(), self._descriptor)

    def view(self, first: int, last: int) -> Bytes:
        """Return the bytes from `first` to `last`, in place."""
        return self._bytes[first:last]

    def release(self, first: int, last: int) -> None:
        """Give back the pages that lie wholly between two positions."""
        start, stop = -(-first // _PAGE) * _PAGE, last // _PAGE * _PAGE
        if start < stop:
            advice = _REMOVE if self.is_shared else mmap.MADV_DONTNEED
            self._map.madvise(advice, start, stop - start)
