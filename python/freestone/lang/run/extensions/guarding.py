"""Memory beside pages that nobody may touch: whoever writes beyond it is found.

Each region ends before a page without access, and another one precedes its first page. What lies
between the region and the page after it, up to 15 bytes, and what lies before the region, holds a
pattern that is compared afterwards.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

__all__ = ["GuardedMemory"]

ALIGNMENT = 16
PATTERN = 0xA5
NO_ACCESS = 0

Array = np.ndarray[Any, Any]


class _Region:
    """Pages, and where in them the bytes are that somebody asked for."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes, self.is_checked = nbytes, False
        room = -(-nbytes // ALIGNMENT) * ALIGNMENT
        self.inside = max(-(-room // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        self.pages = mmap.mmap(-1, self.inside + 2 * mmap.PAGESIZE)
        self.first = ctypes.addressof(ctypes.c_char.from_buffer(self.pages)) + mmap.PAGESIZE
        ctypes.memset(self.first, PATTERN, self.inside)
        self.address = self.first + self.inside - room
        _protect(self.first - mmap.PAGESIZE, mmap.PAGESIZE, NO_ACCESS)
        _protect(self.first + self.inside, mmap.PAGESIZE, NO_ACCESS)

    def is_damaged(self) -> bool:
        """Tell whether bytes beside those that were asked for have changed."""
        before = self.address - self.first
        after = self.inside - before - self.nbytes
        around = ctypes.string_at(self.first, before)
        around += ctypes.string_at(self.address + self.nbytes, after)
        return around.count(PATTERN) != len(around)


class GuardedMemory:
    """Memory of one call of a kernel.

    Attributes
    ----------
    damage : list of int
        The sizes of the regions beyond which something was written, in bytes.
    """

    def __init__(self) -> None:
        self.damage: list[int] = []
        self._regions: dict[int, _Region] = {}
        self._freed: list[_Region] = []

    def allocate(self, nbytes: int) -> int:
        """Return the address of new memory, which holds a pattern."""
        region = _Region(nbytes)
        self._regions[region.address] = region
        return region.address

    def free(self, address: int) -> None:
        """Take memory back; whoever reads it from now on is found, too."""
        region = self._regions.pop(address, None)
        if region is not None:
            self._check(region)
            _protect(region.first, region.inside, NO_ACCESS)
            self._freed.append(region)

    def placed(self, array: Array, *, writable: bool = False) -> Array:
        """Copy an array to memory of its own, which may only be read unless it is `writable`."""
        address = self.allocate(array.nbytes)
        region = self._regions[address]
        raw: Any = (ctypes.c_char * array.nbytes).from_address(address)
        copy: Array = np.frombuffer(raw, array.dtype).reshape(array.shape)
        copy[...] = array
        if not writable:
            _protect(region.first, region.inside, mmap.PROT_READ)
        return copy

    def check(self) -> None:
        """Note beyond which regions something was written."""
        for region in self._regions.values():
            self._check(region)

    def _check(self, region: _Region) -> None:
        if not region.is_checked and region.is_damaged():
            self.damage.append(region.nbytes)
        region.is_checked = True


def _protect(address: int, nbytes: int, access: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(nbytes), access) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
