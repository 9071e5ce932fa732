"""What was found out of files a moment ago, up to some bytes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

__all__ = ["Kept"]


class Kept:
    """The values that were used last, of all threads of a process.

    Parameters
    ----------
    most : int
        Bytes of all values together; one that has more by itself is kept alone.
    """

    def __init__(self, most: int) -> None:
        self._most, self._nbytes = most, 0
        self._lock = threading.Lock()
        # The one that was used last stands last.
        self._values: dict[Hashable, tuple[Any, int]] = {}

    def get(self, key: Hashable) -> Any:
        """Return a value, or None."""
        with self._lock:
            found = self._values.pop(key, None)
            if found is None:
                return None
            self._values[key] = found
            return found[0]

    def keep(self, key: Hashable, value: Any, nbytes: int) -> None:
        """Keep a value, in place of those that were not used for longest."""
        with self._lock:
            self._nbytes += nbytes - self._values.pop(key, (None, 0))[1]
            self._values[key] = (value, nbytes)
            while self._nbytes > self._most and len(self._values) > 1:
                self._nbytes -= self._values.pop(next(iter(self._values)))[1]
