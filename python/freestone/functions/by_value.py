"""Classes that go by value: one class for each in every process, in the state that was sent.

Cloudpickle sends a class that can't be imported elsewhere with all that is in it, and a number by
which a process that gets it again finds the class that it made before. What was sent is put into
that class each time. Two things are needed besides. The process that defined the class keeps its
own state, or a result would undo what the program has set since. And a function that stays resident
gets the state that it was sent with, though what was sent later has another one.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import MemberDescriptorType
from typing import Any, NamedTuple

from cloudpickle import cloudpickle

from freestone.functions.watch import class_check

__all__ = ["States", "is_by_value", "reduce_class"]

_TRACKER = -2
"""Where cloudpickle has the number of a class among what makes it."""


class _Sent(NamedTuple):
    """In which state a class was sent last, and whether it still is in that."""

    version: str
    is_unchanged: Callable[[type], bool]


class _State(NamedTuple):
    """What is put into a class: what it has, and what cloudpickle's slots have."""

    version: str
    content: tuple[dict[str, Any], Any]


class _Put(NamedTuple):
    """What was put into a class last: which version, and the names in it."""

    version: str
    names: frozenset[str]


class _Loading(threading.local):
    """What the thread puts into classes while it loads a function."""

    states: list[tuple[type, _State]] | None = None


_lock = threading.RLock()
_sent: weakref.WeakKeyDictionary[type, _Sent] = weakref.WeakKeyDictionary()
_received: weakref.WeakKeyDictionary[type, _Put] = weakref.WeakKeyDictionary()
"""Classes that other processes have defined."""
_loading = _Loading()


def is_by_value(reduced: Any) -> bool:
    """Tell whether cloudpickle sends a class so, from how it takes it apart."""
    return isinstance(reduced, tuple) and len(reduced) == 6


def reduce_class(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take a class apart as cloudpickle has done it, and with its version."""
    make, args, (namespace, rest), *_ = reduced
    slots = vars(cls).get("__slots__")
    if slots and make is cloudpickle._make_skeleton_class:
        # Cloudpickle makes a class without slots of it, whose instances have other state.
        args = (*args[:3], args[3] | {"__slots__": slots}, *args[4:])
        namespace = {
            key: value
            for key, value in namespace.items()
            if key != "__slots__" and not isinstance(value, MemberDescriptorType)
        }
    state = _State(_version(cls), (namespace, rest))
    return _made, (make, args), state, None, None, _put


def _version(cls: type) -> str:
    with _lock:
        received = _received.get(cls)
        if received is not None:
            return received.version
        sent = _sent.get(cls)
        if sent is None or not sent.is_unchanged(cls):
            sent = _sent[cls] = _Sent(uuid.uuid4().hex, class_check(cls))
        return sent.version


def _made(make: Callable[..., type], args: tuple[Any, ...]) -> type:
    """Return a class of this process, or make it."""
    with _lock:
        is_known = args[_TRACKER] in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
        cls = make(*args)
        if not is_known:
            _received[cls] = _Put("", frozenset())
        return cls


def _put(cls: type, state: _State) -> type:
    with _lock:
        if cls in _received:
            names = frozenset(state.content[0])
            for name in _received[cls].names - names:
                with suppress(AttributeError):
                    delattr(cls, name)
            cloudpickle._class_setstate(cls, state.content)
            _received[cls] = _Put(state.version, names)
    if _loading.states is not None:
        _loading.states.append((cls, state))
    return cls


class States:
    """The classes of a function that is resident, each in the state that it was sent in."""

    def __init__(self, states: list[tuple[type, _State]]) -> None:
        self._states = [(cls, state) for cls, state in states if cls in _received]

    @classmethod
    @contextmanager
    def noted(cls) -> Iterator[list[tuple[type, _State]]]:
        """Note what is put into classes meanwhile."""
        outer, _loading.states = _loading.states, []
        try:
            yield _loading.states
        finally:
            _loading.states = outer

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that puts these states back, where others came later, and runs."""
        if not self._states:
            return function

        def run(*args: Any, **kwargs: Any) -> Any:
            for cls, state in self._states:
                if _received[cls].version != state.version:
                    _put(cls, state)
            return function(*args, **kwargs)

        return run
