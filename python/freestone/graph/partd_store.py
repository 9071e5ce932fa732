"""What tasks append to a `partd` folder, kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MemoryStore", "Piece", "merge", "part_name", "piece_of", "written"]

_Path = tuple[str, ...]


@dataclass
class Piece:
    """Some of the bytes that a task put into its folder.

    Attributes
    ----------
    appended, assigned : dict
        By key; arrays, which are mapped and not copied where the piece is read.
    """

    appended: dict[_Path, NDArray[np.uint8]] = field(default_factory=dict)
    assigned: dict[_Path, NDArray[np.uint8]] = field(default_factory=dict)


class MemoryStore:
    """A store of bytes with `partd`'s interface, for one task.

    Parameters
    ----------
    *pieces
        What is in it already, in this order.

    Notes
    -----
    `partd` names files by its keys, so keys that print alike are one key.
    """

    def __init__(self, *pieces: Piece) -> None:
        self.lock = threading.Lock()
        self._given = pieces
        self._appended: dict[_Path, list[Any]] = {}
        self._assigned: dict[_Path, Any] = {}

    def __reduce__(self) -> Any:
        # A task may return its folder; what it appended goes to the readers by itself.
        return MemoryStore, ()

    def append(self, data: Mapping[Any, Any], **_: Any) -> None:
        """Append bytes to what each key has."""
        for key, value in data.items():
            self._appended.setdefault(_path(key), []).append(value)

    def iset(self, key: Any, value: Any, **_: Any) -> None:
        """Assign bytes to a key, if this task has not done so yet."""
        self._assigned.setdefault(_path(key), value)

    _iset = iset

    def get(self, keys: Any, **_: Any) -> Any:
        """Give the bytes of a key, or of each in a list, which may be nested."""
        if isinstance(keys, list):
            return [self.get(key) for key in keys]
        path = _path(keys)
        data: list[Any] = self._assigned_to(path)
        data += [piece.appended[path] for piece in self._given if path in piece.appended]
        data += self._appended.get(path, ())
        return b"".join(data)

    def _assigned_to(self, path: _Path) -> list[Any]:
        if path in self._assigned:
            return [self._assigned[path]]
        return [piece.assigned[path] for piece in self._given if path in piece.assigned][-1:]

    def _get(self, keys: Iterable[Any], **_: Any) -> list[bytes]:
        return [self.get(key) for key in keys]

    def drop(self) -> None:
        """Remove everything."""
        self._given = ()
        self._appended.clear()
        self._assigned.clear()

    def pieces(self, places: Mapping[str, int]) -> dict[int, Piece]:
        """Give what this task put in, by the place of each part; all at 0 without places."""
        found: dict[int, Piece] = {}

        def at(path: _Path) -> Piece:
            return found.setdefault(places[path[0]] if places else 0, Piece())

        def is_read(path: _Path) -> bool:
            return not places or path[0] in places

        for path, data in self._appended.items():
            if is_read(path):
                at(path).appended[path] = _array(b"".join(data))
        for path, value in self._assigned.items():
            if is_read(path):
                at(path).assigned[path] = _array(value)
        return found


def written(value: Any, store: MemoryStore, places: Mapping[str, int]) -> tuple[Any, Any]:
    """Give a task's value and what it put into its folder."""
    return value, store.pieces(places)


def piece_of(pair: tuple[Any, dict[int, Piece]], place: int) -> Piece:
    """Give the piece that is at a place, of a task's value and pieces."""
    return pair[1].get(place) or Piece()


def merge(*pieces: Piece) -> Piece:
    """Make one piece of those of several tasks, in this order."""
    appended: dict[_Path, list[Any]] = {}
    merged = Piece()
    for piece in pieces:
        for path, data in piece.appended.items():
            appended.setdefault(path, []).append(data)
        merged.assigned.update(piece.assigned)
    merged.appended = {path: np.concatenate(data) for path, data in appended.items()}
    return merged


def part_name(key: Any) -> str:
    """Give the part that a key belongs to: encoders extend the keys of parts to tuples."""
    return _path(key)[0]


def _path(key: Any) -> _Path:
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)


def _array(data: Any) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
