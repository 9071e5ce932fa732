"""Pieces: some rows of a block, cut out where they are used."""

from __future__ import annotations

import contextlib
import copy
import pickle
from typing import Any

from freestone.client.future import Future
from freestone.collections.rows import count_rows, take_rows

__all__ = ["Piece", "future_of", "own_value_of", "value_of"]


class Piece:
    """Rows ``start:stop`` of a block: no copy of them, and no call.

    Passed to a call, however deep inside its arguments, it stands for those rows; the block goes
    to where the call runs, if it is not there.
    """

    __slots__ = ("future", "start", "stop")

    def __init__(self, future: Future, start: int, stop: int) -> None:
        self.future: Future[Any] = future
        self.start: int = start
        self.stop: int = stop

    @property
    def nbytes(self) -> int | None:
        """Bytes of the whole block; None while they are not known."""
        return self.future.nbytes

    def result(self, timeout_s: float | None = None) -> Any:
        """Wait for the block and return the rows."""
        return take_rows(self.future.result(timeout_s), self.start, self.stop)

    def __len__(self) -> int:
        return self.stop - self.start

    def __reduce__(self) -> Any:
        return take_rows, (self.future, self.start, self.stop)

    def __repr__(self) -> str:
        return f"<freestone.Piece {self.start}:{self.stop} of {self.future!r}>"


def future_of(piece: Any) -> Any:
    """Return the future that a piece, or a future, stands on."""
    return piece.future if isinstance(piece, Piece) else piece


def value_of(piece: Any, timeout_s: float | None = None) -> Any:
    """Return the rows of a piece or future; anything else as it is."""
    return piece.result(timeout_s) if isinstance(piece, Piece | Future) else piece


def own_value_of(piece: Any) -> Any:
    """Return the rows of a piece or future, or a copy of what is here, which may be changed.

    Calls on a cluster get copies; calls in this process get the same by this.
    """
    if type(piece) not in (list, dict, set, bytearray):
        return value_of(piece)
    try:
        return pickle.loads(pickle.dumps(piece, pickle.HIGHEST_PROTOCOL))
    except Exception:
        # Of a class inside of a function, say; or of what can't be copied at all.
        with contextlib.suppress(Exception):
            return copy.deepcopy(piece)
        return copy.copy(piece)


def cut(piece: Any, start: int, stop: int) -> Any:
    """Return rows ``start:stop`` of a piece, future or value."""
    if isinstance(piece, Piece):
        return Piece(piece.future, piece.start + start, piece.start + stop)
    if isinstance(piece, Future):
        return Piece(piece, start, stop)
    return take_rows(piece, start, min(stop, count_rows(piece)))
