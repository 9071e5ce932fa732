"""Memory that keeps every row at one address for as long as a job lives.

An array's bytes have global positions, from 0 to what all ranks hold together. A process reserves
addresses for all of them and touches only the pages of its own rows. So rows that stay are never
copied, rows that come are written where they belong, and rows that come back find their pages
warm: it is fresh pages, not MPI, that a resize on one machine costs.

Constant data may lie in memory that the processes of a host share: then their rows change hands
without moving.

See docs/decisions/016-rows-of-a-malleable-job-keep-their-addresses.md
See docs/decisions/022-row-buffers-use-huge-pages.md
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Handle", "Storage", "reserve"]

_PAGE = mmap.PAGESIZE
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_REMOVE = getattr(mmap, "MADV_REMOVE", 9)
_HUGEPAGE = getattr(mmap, "MADV_HUGEPAGE", 14)
# Since Linux 5.14; Python has no name for it.
_POPULATE_WRITE = 23
# Huge pages (2 MiB) at both ends of a block hold some bytes of no use.
_LARGE = 32 << 20

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
    mappable : bool
        Whether other processes of this host can map new memory.
    """

    def __init__(
        self, nbytes: int, *, handle: Handle | None = None, mappable: bool = False
    ) -> None:
        self.nbytes = nbytes
        self._descriptor = -1
        size = max(nbytes, 1)
        if handle is not None:
            self._descriptor = os.open(f"/proc/{handle.pid}/fd/{handle.descriptor}", os.O_RDWR)
        elif mappable:
            self._descriptor = os.memfd_create("freestone")
            os.ftruncate(self._descriptor, size)
        self.is_mappable = self._descriptor >= 0
        flags = mmap.MAP_SHARED if self.is_mappable else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._map = _map(self._descriptor, size, flags)
        if not self.is_mappable and nbytes >= _LARGE:
            # Half as much time to move rows: fewer pages to look up.
            with contextlib.suppress(OSError):
                self._map.madvise(_HUGEPAGE)
        self._bytes: Bytes = np.frombuffer(self._map, np.uint8)[:nbytes]

    def __del__(self) -> None:
        # The map itself lives as long as views of it do.
        if getattr(self, "_descriptor", -1) >= 0:
            os.close(self._descriptor)

    @property
    def address(self) -> int:
        """Where the first byte is in this process."""
        return int(self._bytes.ctypes.data)

    def handle(self, host: str) -> Handle:
        """Return what another process of `host` maps this by, while this process lives."""
        return Handle(host, os.getpid(), self._descriptor)

    def view(self, first: int, last: int) -> Bytes:
        """Return the bytes from `first` to `last`, in place."""
        return self._bytes[first:last]

    def apart(self, first: int, last: int) -> Bytes:
        """Return a view of its own, which lives as long as what is made from it does."""
        if first == last:
            return np.empty(0, np.uint8)
        return np.frombuffer(self._map, np.uint8, last - first, first)

    def release(self, first: int, last: int) -> None:
        """Give back the pages that lie wholly between two positions."""
        advice = _REMOVE if self.is_mappable else mmap.MADV_DONTNEED
        start, stop = -(-first // _PAGE) * _PAGE, last // _PAGE * _PAGE
        if start < stop:
            self._map.madvise(advice, start, stop - start)

    def warm(self, first: int, last: int) -> None:
        """Touch all pages between two positions, unless the system can't do it at once."""
        start, stop = first // _PAGE * _PAGE, min(-(-last // _PAGE) * _PAGE, len(self._map))
        if start < stop:
            with contextlib.suppress(OSError):
                self._map.madvise(_POPULATE_WRITE, start, stop - start)


def reserve(sizes: Iterable[int]) -> list[mmap.mmap]:
    """Reserve addresses, which are free again when nobody holds what is returned.

    Raises
    ------
    OSError
        If this process can't have so many.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return [_map(-1, max(nbytes, 1), flags) for nbytes in sizes]


def _map(descriptor: int, size: int, flags: int) -> mmap.mmap:
    try:
        return mmap.mmap(descriptor, size, flags | _NORESERVE)
    except OSError as error:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        limited = "" if limit < 0 else f", whose limit is {limit / 2**20:.0f} MiB in all"
        problem = (
            "a process needs addresses for all rows of an array, and can't have them for "
            f"{size / 2**20:.0f} MiB{limited} ({error.strerror}); raise the limit on virtual "
            "memory (ulimit -v), or let the system overcommit it (vm.overcommit_memory)"
        )
        raise OSError(error.errno, problem) from error
