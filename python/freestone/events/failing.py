"""Exceptions on their way from rank to rank. Called by the native half."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from freestone.errors.events import RankFailedError
from freestone.functions import dumps_failure


def encode(error: BaseException, label: str) -> bytes:
    """Encode an exception with its traceback and the task that raised it."""
    text = "".join(traceback.format_exception(error))
    try:
        pickled = dumps_failure(error)
    except Exception:
        pickled = b""
    return pickle.dumps((pickled, f"{type(error).__name__}: {error}", text, label))


def decode(rank: int, data: bytes) -> BaseException:
    """Give back the exception that `encode` was given, with a note that says where it is from."""
    pickled, summary, text, label = pickle.loads(data)
    error = _unpickled(pickled)
    if error is None:
        error = RankFailedError(
            f"{label!r} of rank {rank} raised {summary} (it can't be sent)", rank=rank
        )
    add_origin(error, rank, label, text)
    return error


def add_origin(error: BaseException, rank: int, label: str, text: str) -> None:
    """Note where an exception is from, with its traceback, which no pickle has."""
    error.add_note(f"raised by {label!r} on rank {rank}\n{text}")


def _unpickled(data: bytes) -> BaseException | None:
    try:
        error: Any = pickle.loads(data) if data else None
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None
