"""Where a piece of a file begins, told by those who encode the pieces before it.

Processes that encode pieces of one file tell how large each is in a small file beside it, the
ledger. So a process knows where its piece begins as soon as those before it are encoded, and nobody
has to be asked: neither this program nor the other processes.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Turn", "ledger", "sum_sizes"]

# A size, and all its bits turned: what is not told yet, or half of it, is no such pair.
ENTRY = struct.Struct("<QQ")
ALL_BITS = (1 << 64) - 1
# Between two looks. A piece takes milliseconds to encode.
POLL_INTERVAL_S = 1e-4


@contextlib.contextmanager
def ledger(path: str) -> Iterator[str]:
    """Keep a ledger while the block runs."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def sum_sizes(entries: bytes, count: int) -> tuple[int, int]:
    """Return how many of so many sizes are missing, and the sum of the others."""
    whole = len(entries) - len(entries) % ENTRY.size
    found = ENTRY.iter_unpack(entries[:whole])
    known = [size for size, inverted in found if size ^ inverted == ALL_BITS]
    return count - len(known), sum(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A piece's place in the order of a file's pieces.

    Attributes
    ----------
    ledger : str
        The path of the ledger.
    number : int
        Which piece it is.
    front, offset : int
        A piece at or before it, and where that one begins.
    abreast : int
        So many pieces are encoded at the same time.
    """

    ledger: str
    number: int
    front: int
    offset: int
    abreast: int

    def tell(self, nbytes: int) -> None:
        """Tell how large this piece is; the same each time."""
        descriptor = os.open(self.ledger, os.O_WRONLY)
        try:
            entry = ENTRY.pack(nbytes, nbytes ^ ALL_BITS)
            os.pwrite(descriptor, entry, self.number * ENTRY.size)
        finally:
            os.close(descriptor)

    def find(self, patience_s: float = 0.0) -> int | None:
        """Return where this piece begins; None if it can't be known yet.

        Parameters
        ----------
        patience_s
            So long it waits at most for pieces that others are encoding: as many as are encoded at
            the same time, without this one. If more are missing, it does not wait.
        """
        if self.number == self.front:
            return self.offset
        end = time.monotonic() + patience_s
        descriptor = os.open(self.ledger, os.O_RDONLY)
        try:
            while True:
                missing, nbytes = self._look(descriptor)
                if not missing:
                    return self.offset + nbytes
                if missing >= self.abreast or time.monotonic() >= end:
                    return None
                time.sleep(POLL_INTERVAL_S)
        finally:
            os.close(descriptor)

    def _look(self, descriptor: int) -> tuple[int, int]:
        count = self.number - self.front
        found = os.pread(descriptor, count * ENTRY.size, self.front * ENTRY.size)
        return sum_sizes(found, count)
