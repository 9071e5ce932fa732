"""A file-like view of bytes that are read at an offset."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["Reader"]


class Reader(io.RawIOBase):
    """Reads from an object with ``nbytes`` and ``read_at``, for libraries that want a file."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place of it can be read."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.nbytes}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; how many bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), max(self._source.nbytes - self._at, 0))
        found = self._source.read_at(self._at, wanted) if wanted else b""
        view[: len(found)] = found
        self._at += len(found)
        return len(found)
