"""Finding what can't be pickled inside a value."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import cloudpickle

from freestone import _native
from freestone.errors import FreestoneError, NotSerializableError

__all__ = ["not_serializable"]

_DEEPEST = 20


def not_serializable(
    what: str, value: Any, label: str, error: BaseException, root: str | None = None
) -> BaseException:
    """Make the error for a value that can't be pickled, with the path of the part that can't.

    Parameters
    ----------
    what
        ``"argument"`` (`value` is the pair of positional and keyword arguments), ``"result"`` or
        ``"checkpoint"``.
    value
        What was to be pickled.
    label
        The function's name.
    error
        What pickling it raised.
    root
        What the path begins with; None for `what`.

    Notes
    -----
    Pickles each part of the value once more to find the one.
    """
    if isinstance(error, FreestoneError) or not isinstance(error, Exception):
        return error
    where, part = _culprit(value, root or what, 0)
    return NotSerializableError(
        what=what,
        where=where.removeprefix("argument."),
        kind=f"{type(part).__module__}.{type(part).__qualname__}".removeprefix("builtins."),
        label=label,
        reason=f"{error}{_instead(part)}",
    )


def _instead(part: Any) -> str:
    """Say what to send instead of something that is open in this process."""
    if type(part).__module__.partition(".")[0] != "h5py":
        return ""
    return (
        "; give the path and open the file where it is read, or fs.read(path, dataset=name), whose "
        ".to_dask() is an array of Dask's"
    )


def _culprit(value: Any, where: str, depth: int) -> tuple[str, Any]:
    if depth < _DEEPEST and not _says_itself(value):
        for step, part in _parts(value, where):
            if not _can_be_pickled(part):
                return _culprit(part, step, depth + 1)
    return where, value


def _says_itself(value: Any) -> bool:
    """Whether it is of a type that says why it can't be sent, of freestone's, files or futures."""
    if isinstance(value, concurrent.futures.Future) or asyncio.isfuture(value):
        return True
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if package == "h5py":
        return True
    is_own = package == "freestone"
    reduce: object = kind.__reduce__
    return is_own and reduce is not object.__reduce__


def _parts(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if where == "argument":
        args, kwargs = value
        yield from ((f"argument.args[{index}]", part) for index, part in enumerate(args))
        yield from ((f"argument.{key}", part) for key, part in (kwargs or {}).items())
    elif isinstance(value, Mapping):
        yield from ((f"{where}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"{where}[{index}]", part) for index, part in enumerate(value))
    else:
        yield from ((f"{where}.{key}", part) for key, part in _attributes(value).items())


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that pickle takes, also those in slots."""
    try:
        reduced = value.__reduce_ex__(5)
        state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    except Exception:
        # One that takes itself apart as an error, such as a socket.
        state = None
    attributes: dict[str, Any] = {}
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, dict):
            attributes |= {str(key): one for key, one in part.items()}
    if attributes:
        return attributes
    own = getattr(value, "__dict__", None)
    return own if isinstance(own, dict) else {}


def _can_be_pickled(value: Any) -> bool:
    if isinstance(value, _native.manager.FutureBase):
        return True
    try:
        pickle.dumps(value, protocol=5)
    except Exception:
        try:
            cloudpickle.dumps(value, protocol=5)
        except Exception:
            return False
    return True
