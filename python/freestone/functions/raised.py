"""Exceptions on their way to another process."""

from __future__ import annotations

import pickle
from contextlib import suppress
from types import MemberDescriptorType, WrapperDescriptorType
from typing import Any

from freestone.functions.pickling import Pickler, pickled_by

__all__ = ["dumps_failure"]

_HEAP_TYPE = 1 << 9
"""The flag of classes that are made while a program runs: of all but the built-in ones."""
_NOT_SENT: frozenset[type] = frozenset({BaseException, BaseExceptionGroup, AttributeError})
"""Built-in classes whose fields `__reduce__` has, that can't be set, or that are any objects."""


class _ByReference(pickle.Pickler):
    """Pickle that takes exceptions apart as their own classes say, or as `_apart` does.

    A package may put a reducer for any exception into `copyreg`. That of tblib, which Dask
    installs, makes it anew without `__init__`, so that attributes are missing.
    """

    def reducer_override(self, value: Any) -> Any:
        return _apart(value) if isinstance(value, BaseException) else NotImplemented


class _ByValue(Pickler):
    """The same, with functions and classes by value if they can't be imported elsewhere."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _apart(value)
        return super().reducer_override(value)


def dumps_failure(failure: object) -> bytes:
    """Pickle an exception, or what has one; classes that can't be imported elsewhere by value.

    Raises
    ------
    Exception
        Whatever it raises if it can't be pickled, or if it could not be unpickled and shown.
    """
    try:
        pickled = pickled_by(_ByReference, failure)
    except Exception:
        # Of a class in a function, or with a lambda.
        pickled = b"_main__"
    if b"_main__" in pickled:
        pickled = pickled_by(_ByValue, failure)
    str(pickle.loads(pickled))
    return pickled


def _apart(error: BaseException) -> Any:
    """Take an exception apart so that its own `__init__` is not called again.

    `BaseException.__reduce__` would call it with `args`, which are what it gave to its base: one
    that makes a message of its arguments would make a message of the message, and one that takes
    others, or keywords alone, would refuse.
    """
    kind = type(error)
    reduced: Any = error.__reduce_ex__(5)
    if not _is_made(kind) or _is_made(_owner(kind, "__reduce_ex__"), _owner(kind, "__reduce__")):
        return reduced
    _, args, *state = reduced
    fields = _fields(error) | (state[0] if state else {})
    return (_without_init, (kind, args), *([fields] if fields else ()))


def _is_made(*classes: type) -> bool:
    return any(one.__flags__ & _HEAP_TYPE for one in classes)


def _owner(kind: type, name: str) -> type:
    return next(one for one in kind.__mro__ if name in vars(one))


def _fields(error: BaseException) -> dict[str, Any]:
    """Return what an exception has in slots, and in those of built-in classes, if it has it."""
    kind = type(error)
    fields: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        members: dict[str, Any] = {} if base in _NOT_SENT else dict(vars(base))
        for name, member in members.items():
            is_slot = isinstance(member, MemberDescriptorType)
            is_hidden = getattr(kind, name, None) is not member
            if is_slot and not is_hidden:
                with suppress(AttributeError):
                    value = member.__get__(error)
                    # One of a built-in class is None where there is nothing.
                    if value is not None or _is_made(base):
                        fields[name] = value
    return fields


def _without_init(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Make an exception as its built-in base does, which may keep in itself what it is given."""
    error = _new(kind, args)
    base: Any = next(
        one for one in kind.__mro__ if isinstance(vars(one).get("__init__"), WrapperDescriptorType)
    )
    # Where the class has not called it, it may not take these; they are in `args` by now.
    with suppress(Exception):
        base.__init__(error, *args)
    return error


def _new(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Make an exception by the first `__new__` that takes its `args`."""
    refused = None
    for base in kind.__mro__:
        make: Any = vars(base).get("__new__")
        if make is not None:
            try:
                error = base.__new__(kind, *args)
            except Exception as problem:
                refused = refused or problem
                continue
            if isinstance(error, kind):
                return error
    raise refused or TypeError(f"{kind.__qualname__} makes no exception of {args!r:.80}")
