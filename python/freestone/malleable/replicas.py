"""Values that all ranks have alike: compared when they are registered."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from freestone.errors import RegistrationError
from freestone.malleable import together

__all__ = ["difference", "require_same_value", "unpicklable", "unsendable"]

_MAX_SHOWN = 80


def require_same_value(comm: Any, name: str, value: Any, timeout_s: float) -> None:
    """Require that all ranks give the same value; all together.

    Parameters
    ----------
    comm : mpi4py communicator
        The ranks.
    name : str
        What it is registered as.
    value : object
        What this rank gives, which can be pickled.
    timeout_s : float
        How long a wait may take.

    Raises
    ------
    RegistrationError
        On all ranks, with the first rank whose value is another one than rank 0's, and where; or
        whose value can't be pickled.

    Notes
    -----
    One small collective if the pickled values are equal; else that of rank 0 is sent to all.
    """
    what = f"comparing {name!r}"
    packed, why = together.pickled(value)
    problem = f"can't be pickled ({why})" if why else ""
    checksum = 0 if why else int.from_bytes(hashlib.blake2b(packed, digest_size=7).digest())
    mine = np.array([bool(problem), checksum, -checksum], np.int64)
    is_broken, most, least = together.largest(comm, mine, timeout_s, what)
    if not is_broken and most == -least:
        return
    if not is_broken:
        # Equal values may be pickled otherwise: sets, for instance, in another order.
        theirs = together.tell(comm, value, timeout_s, what)
        problem = difference(value, theirs)
    for rank, found in enumerate(together.gather_all(comm, problem, timeout_s, what)):
        if found:
            problem = (
                f"rank {rank}: {name!r} {found}; give the same value on all ranks, such as that of "
                "rank 0 by world.once"
            )
            raise RegistrationError(problem, name=name)


def unsendable(comm: Any, values: Mapping[str, Any], timeout_s: float) -> str:
    """Return which value of rank 0 joining ranks can't get, and why; the same on all ranks."""
    problem = unpicklable(values) if comm.rank == 0 else ""
    common: str = together.tell(comm, problem, timeout_s, "looking at replicated values")
    return common


def unpicklable(values: Mapping[str, Any]) -> str:
    """Return which value of this rank can't be pickled, and why."""
    for name, value in values.items():
        _, why = together.pickled(value)
        if why:
            return (
                f"RegistrationError: the value of {name!r} on rank 0 can't be pickled, so other "
                f"ranks can't get it ({why}); give it data"
            )
    return ""


def difference(own: Any, theirs: Any, where: str = "") -> str:
    """Return in what a value differs from that of rank 0, and where; nothing if they are equal."""
    if type(own) is not type(theirs):
        return _other(where, type(own).__name__, type(theirs).__name__)
    if isinstance(own, np.ndarray):
        return _of_arrays(own, theirs, where)
    if isinstance(own, Mapping):
        if own.keys() != theirs.keys():
            return _other(where + ".keys()", [*own], [*theirs])
        pairs = ((own[key], theirs[key], f"{where}[{key!r}]") for key in own)
        return next(filter(None, (difference(*pair) for pair in pairs)), "")
    if isinstance(own, list | tuple):
        if len(own) != len(theirs):
            return _other(f"len{where}" if where else "length", len(own), len(theirs))
        each = enumerate(zip(own, theirs, strict=True))
        found = (difference(a, b, f"{where}[{index}]") for index, (a, b) in each)
        return next(filter(None, found), "")
    if isinstance(own, Set) or _has_equality(type(own)):
        return "" if _are_equal(own, theirs) else _other(where, own, theirs)
    return _of_objects(own, theirs, where)


def _of_arrays(own: Any, theirs: Any, where: str) -> str:
    if (own.shape, own.dtype) != (theirs.shape, theirs.dtype):
        return _other(where, f"shape {own.shape} ({own.dtype})", f"{theirs.shape} ({theirs.dtype})")
    unlike = np.asarray(own != theirs)
    if own.dtype.kind in "fcmM":
        # What is no number on both ranks is the same.
        unlike &= (own == own) | (theirs == theirs)
    if not unlike.any():
        return ""
    at = tuple(int(index) for index in np.argwhere(unlike)[0])
    place = f"{where}[{', '.join(map(str, at))}]" if at else where
    return _other(place, own[at].item(), theirs[at].item())


def _has_equality(kind: type) -> bool:
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])


def _are_equal(own: Any, theirs: Any) -> bool:
    try:
        # What is not equal to itself, as NaN is not, is the same on both ranks.
        return bool(own == theirs) or bool(own != own and theirs != theirs)
    except (TypeError, ValueError):
        return pickle.dumps(own) == pickle.dumps(theirs)


def _of_objects(own: Any, theirs: Any, where: str) -> str:
    """Compare objects of a class without an equality of its own, by what they are made of."""
    if own is theirs or isinstance(own, type):
        return "" if own is theirs else _other(where, own, theirs)
    mine, its = (_parts(value) for value in (own, theirs))
    if mine is None or its is None:
        return "" if pickle.dumps(own) == pickle.dumps(theirs) else _other(where, own, theirs)
    return difference(mine, its, where)


def _parts(value: Any) -> dict[str, Any] | None:
    state = value.__getstate__() if hasattr(value, "__getstate__") else None
    return state if isinstance(state, dict) else None


def _other(where: str, own: Any, theirs: Any) -> str:
    shown = [
        text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
        for text in map(_text, (own, theirs))
    ]
    place = f"{where} " if where else ""
    return f"{place}is {shown[0]}, and {shown[1]} on rank 0"


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value.startswith(("shape", "(")) else repr(value)
