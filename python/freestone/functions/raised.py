"""Exceptions on their way to another process."""

from __future__ import annotations

import io
import pickle
import traceback
from contextlib import suppress
from functools import partial
from types import MemberDescriptorType, WrapperDescriptorType
from typing import Any

from freestone.functions.pickling import Pickler, pickled_by
from freestone.units import format_nbytes

__all__ = ["described", "dumps_failure"]

_HEAP_TYPE = 1 << 9
"""The flag of classes that are made while a program runs: of all but the built-in ones."""
_NOT_SENT: frozenset[type] = frozenset({BaseException, BaseExceptionGroup, AttributeError})
"""Built-in classes whose fields `__reduce__` has, that can't be set, or that are any objects."""
_PICKLED_NBYTES = 8 << 20
"""An exception that is larger travels as its type's name, its message and its traceback."""
_TEXT_LENGTH = 100_000
"""What is left of a message or a traceback, in characters."""
_CHAIN_LENGTH = 16
"""How many of the exceptions that led to one are sent with it."""
_CHAIN_NBYTES = 4 << 20
"""What these may take together."""


class _ByReference(pickle.Pickler):
    """Pickle that takes exceptions apart as their own classes say, or as `_apart` does.

    A package may put a reducer for any exception into `copyreg`. That of tblib, which Dask
    installs, makes it anew without `__init__`, so that attributes are missing.
    """

    def __init__(self, file: io.BytesIO, chain: _Chain | None, **options: Any) -> None:
        super().__init__(file, **options)
        self._chain = chain

    def reducer_override(self, value: Any) -> Any:
        return _led(value, self._chain) if isinstance(value, BaseException) else NotImplemented


class _ByValue(Pickler):
    """The same, with functions and classes by value if they can't be imported elsewhere."""

    def __init__(self, file: io.BytesIO, chain: _Chain | None, **options: Any) -> None:
        super().__init__(file, **options)
        self._chain = chain

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _led(value, self._chain)
        return super().reducer_override(value)


def dumps_failure(failure: object) -> bytes:
    """Pickle an exception, or what has one; classes that can't be imported elsewhere by value.

    What led to it, its ``__cause__`` and ``__context__``, comes along.

    Raises
    ------
    Exception
        Whatever it raises if it can't be pickled, or if it could not be unpickled and shown.
    """
    return _dumps(failure, _Chain())


def try_dumps_failure(error: BaseException, limit: int) -> tuple[bytes, str]:
    """Pickle an exception so that it can be unpickled; if that can't be, say why in its place."""
    return _try_dumps(error, _Chain(), limit)


def described(error: BaseException) -> tuple[bytes, str, str, str]:
    """Return an exception pickled, its type's name, its message and its traceback."""
    name, message = describe_failure(error)
    shown = traceback.TracebackException.from_exception(error)
    pickled, why = try_dumps_failure(error, _PICKLED_NBYTES)
    if pickled:
        _leave_origins_out(shown)
    else:
        pickled = pickle.dumps(f"the exception itself {why}")
    return pickled, name, message, shortened("".join(shown.format()))


def _leave_origins_out(shown: traceback.TracebackException) -> None:
    """Take notes of where exceptions come from out of a traceback: they are sent as notes.

    One that has come through task after task would be twice as long after each.
    """
    from freestone.errors.base import is_origin

    left, seen = [shown], {id(shown)}
    while left:
        one = left.pop()
        one.__notes__ = [note for note in one.__notes__ or () if not is_origin(str(note))]
        linked = [one.__cause__, one.__context__, *(one.exceptions or ())]
        new = [link for link in linked if link is not None and id(link) not in seen]
        seen.update(map(id, new))
        left += new


def describe_failure(error: BaseException) -> tuple[str, str]:
    """Return an exception's type and its message, for people."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        text = str(error)
    except Exception as problem:
        text = f"its message can't be made: {problem!r:.300}"
    return name, shortened(text)


def shortened(text: str) -> str:
    """Cut out the middle of a text that is too long for a message to people.

    What is no Unicode in it, as in a file name of other bytes, is shown by its numbers.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= _TEXT_LENGTH:
        return text
    half = _TEXT_LENGTH // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _dumps(failure: object, chain: _Chain | None) -> bytes:
    try:
        pickled = pickled_by(partial(_ByReference, chain=chain), failure)
    except Exception:
        # Of a class in a function, or with a lambda.
        pickled = b"_main__"
    if b"_main__" in pickled:
        pickled = pickled_by(partial(_ByValue, chain=chain), failure)
    str(pickle.loads(pickled))
    return pickled


def _try_dumps(error: BaseException, chain: _Chain | None, limit: int) -> tuple[bytes, str]:
    try:
        pickled = _dumps(error, chain)
    except Exception as problem:
        return b"", f"can't be sent: {type(problem).__name__}: {problem!s:.300}"
    if len(pickled) <= limit:
        return pickled, ""
    taken, allowed = format_nbytes(len(pickled)), format_nbytes(limit)
    return b"", f"is too large to be sent: it takes {taken}, and may take {allowed}"


class _Chain:
    """What led to an exception, as far as it is sent with it."""

    def __init__(self) -> None:
        self._links: dict[int, _Link] = {}
        self._left = _CHAIN_NBYTES

    def state(self, error: BaseException) -> dict[str, Any]:
        """Return the attributes by which an exception refers to those that led to it."""
        causes = {"__cause__": error.__cause__, "__context__": error.__context__}
        state: dict[str, Any] = {
            name: self._link(cause) for name, cause in causes.items() if cause is not None
        }
        if state or error.__suppress_context__:
            # After the cause: to set that sets this, too.
            state["__suppress_context__"] = error.__suppress_context__
        return state

    def dumps(self, error: BaseException) -> tuple[bytes, str]:
        """Pickle one of those that led to it, or say why that can't be."""
        pickled, why = _try_dumps(error, None, self._left)
        self._left -= len(pickled)
        return pickled, why

    def _link(self, error: BaseException) -> _Link:
        if id(error) not in self._links:
            is_last = len(self._links) >= _CHAIN_LENGTH
            self._links[id(error)] = _Link(error, None if is_last else self)
        return self._links[id(error)]


class _Link:
    """An exception that led to another one, on its way.

    Each is pickled apart from the others, so that one that can't be spoils none of them.
    """

    def __init__(self, error: BaseException, chain: _Chain | None) -> None:
        self._error = error
        self._chain = chain
        self._sent: tuple[str, str, bytes, str] | None = None

    def __reduce__(self) -> Any:
        if self._sent is None:
            self._sent = self._dumps()
        state = {} if self._chain is None else self._chain.state(self._error)
        return _with_state((_received, self._sent), state)

    def _dumps(self) -> tuple[str, str, bytes, str]:
        kind, text = describe_failure(self._error)
        if self._chain is None:
            return kind, text, b"", f"is not sent: {_CHAIN_LENGTH} later ones are"
        return kind, text, *self._chain.dumps(self._error)


def _received(kind: str, text: str, pickled: bytes, why: str) -> BaseException:
    """Make an exception that led to another one, or what stands for it."""
    if pickled:
        try:
            error: Any = pickle.loads(pickled)
        except Exception as problem:
            why = f"can't be unpickled here: {type(problem).__name__}: {problem!s:.300}"
        else:
            if isinstance(error, BaseException):
                return error
    from freestone.errors import TaskRaisedError

    return TaskRaisedError(label="", kind=kind, text=text, why=f"the exception itself {why}")


def _led(error: BaseException, chain: _Chain | None) -> Any:
    """Take an exception apart, with what led to it."""
    reduced = _apart(error)
    state = {} if chain is None else chain.state(error)
    notes = getattr(error, "__notes__", None)
    if notes and _is_taken_apart_by_itself(type(error)):
        # One may leave out what it does not know of.
        state["__notes__"] = notes
    return _with_state(reduced, state) if state and isinstance(reduced, tuple) else reduced


def _with_state(reduced: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, ...]:
    """Have what is made again get some more attributes, after what its class gives it."""
    function, args, state, items, pairs, setter = (*reduced, *[None] * 6)[:6]
    return function, args, (state, setter, more), items, pairs, _set_state


def _set_state(error: Any, state: tuple[Any, Any, dict[str, Any]]) -> None:
    own, setter, more = state
    if setter is not None:
        setter(error, own)
    elif own is not None:
        error.__setstate__(own)
    for name, value in more.items():
        setattr(error, name, value)


def _apart(error: BaseException) -> Any:
    """Take an exception apart so that its own `__init__` is not called again.

    `BaseException.__reduce__` would call it with `args`, which are what it gave to its base: one
    that makes a message of its arguments would make a message of the message, and one that takes
    others, or keywords alone, would refuse.
    """
    kind = type(error)
    reduced: Any = error.__reduce_ex__(5)
    if not _is_made(kind) or _is_taken_apart_by_itself(kind):
        return reduced
    _, args, *state = reduced
    fields = _fields(error) | (state[0] if state else {})
    return (_without_init, (kind, args), *([fields] if fields else ()))


def _is_taken_apart_by_itself(kind: type) -> bool:
    return _is_made(_owner(kind, "__reduce_ex__"), _owner(kind, "__reduce__"))


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
