"""Classes that go by value: one class for each in every process, in the state that was sent.

Cloudpickle sends a class that can't be imported elsewhere with all that is in it, and a number by
which a process that gets it again finds the class that it made before. What was sent is put into
that class each time. Three things are needed besides. The process that defined the class keeps its
own state, or a result would undo what the program has set since. And a function that stays resident
gets the state that it was sent with, though what was sent later has another one. And a class that a
script or a notebook defines again as it was is the same class elsewhere: its number is of its name
and its content, and a result that comes then is of the class that the name stands for now.
"""

from __future__ import annotations

import enum
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import MemberDescriptorType, resolve_bases
from typing import Any, NamedTuple

from cloudpickle import cloudpickle

from freestone.functions import enums, script
from freestone.functions.watch import Watch, class_watch, content_of

__all__ = ["States", "is_by_value", "number", "own_no_classes", "reduce_class"]

_HOOK = "__init_subclass__"
_TRACKER = -2
"""Where cloudpickle has the number of a class among what makes it."""


class _Sent(NamedTuple):
    """In which state a class was sent last, and whether it still is in that."""

    version: str
    watch: Watch


class _State(NamedTuple):
    """What is put into a class.

    That is what it has, and what cloudpickle's slots have; its bases; and what the members of an
    enumeration have besides their values.
    """

    version: str
    content: tuple[dict[str, Any], Any]
    bases: tuple[type, ...]
    members: dict[str, dict[str, Any]]


class _Put(NamedTuple):
    """What was put into a class last: which version, the names in it, and whether it still is."""

    version: str
    names: frozenset[str]
    watch: Watch | None


class _Loading(threading.local):
    """What the thread puts into classes while it loads a function."""

    states: list[tuple[type, _State]] | None = None


_UNKNOWN = _Put("", frozenset(), None)
_lock = threading.RLock()
_sent: weakref.WeakKeyDictionary[type, _Sent] = weakref.WeakKeyDictionary()
_received: weakref.WeakKeyDictionary[type, _Put] = weakref.WeakKeyDictionary()
"""Classes that other processes have defined, or changed last."""
_loading = _Loading()
_owns = True
_process = uuid.uuid4().hex
"""Tells classes of this process's script apart from those of other programs."""
_SCRIPTS = frozenset({"__main__", "__mp_main__"})


def own_no_classes() -> None:
    """Let the classes that calls make in this process, which runs them, be whose has their results.

    What calls set in classes stays here, and is not sent.
    """
    global _owns
    _owns = False


def number(cls: type) -> None:
    """Give a class of the script the number that one of its name and content has."""
    module = cls.__module__
    if module not in _SCRIPTS or not _owns or cls in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS:
        return
    if _now_named(module, cls.__qualname__) is not cls:
        return
    known = f"{_process} {module} {cls.__qualname__} {content_of(cls).hex()}"
    with _lock:
        cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS[cls] = known
        cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID[known] = cls


def _defined_again(known: str) -> type | None:
    """Return the class of this process's script that has a number by now, if there is one."""
    process, *place = known.split(" ", 3)
    if process != _process or len(place) != 3:
        return None
    cls = _now_named(*place[:2])
    if cls is None:
        return None
    number(cls)
    is_it = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(cls) == known
    return cls if is_it else None


def _now_named(module: str, qualname: str) -> type | None:
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found if isinstance(found, type) else None


def is_by_value(reduced: Any) -> bool:
    """Tell whether cloudpickle sends a class so, from how it takes it apart."""
    return isinstance(reduced, tuple) and len(reduced) == 6


def reduce_class(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take a class apart as cloudpickle has done it, and with its version."""
    make, args, (namespace, rest), *_ = reduced
    slots = vars(cls).get("__slots__")
    if make is cloudpickle._make_skeleton_class:
        args = (*args[:3], args[3] | {"__qualname__": cls.__qualname__}, *args[4:])
    if slots and make is cloudpickle._make_skeleton_class:
        # Cloudpickle makes a class without slots of it, whose instances have other state.
        args = (*args[:3], args[3] | {"__slots__": slots}, *args[4:])
        namespace = {
            key: value
            for key, value in namespace.items()
            if key != "__slots__" and not isinstance(value, MemberDescriptorType)
        }
    members: dict[str, dict[str, Any]] = {}
    if issubclass(cls, enum.Enum):
        make, args, members = enums.make, enums.made_of(cls, args), enums.member_attributes(cls)
        namespace = {key: value for key, value in namespace.items() if key not in cls.__members__}
    state = _State(_version(cls), (namespace, rest), cls.__bases__, members)
    return _made, (make, args), state, None, None, _put


def _version(cls: type) -> str:
    with _lock:
        received = _received.get(cls)
        if received is not None:
            if received.watch is None or received.watch.is_unchanged():
                return received.version
            # The program has changed it, and so it is the program's from now on.
            del _received[cls]
        sent = _sent.get(cls)
        if sent is None or not sent.watch.is_unchanged():
            sent = _sent[cls] = _Sent(uuid.uuid4().hex, class_watch(cls))
        return sent.version


def _made(make: Callable[..., type], args: tuple[Any, ...]) -> type:
    """Return a class of this process, or make it."""
    with _lock:
        known: type | None = _defined_again(args[_TRACKER])
        known = known or cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(args[_TRACKER])
        if known is not None:
            return known
        with _unnoticed(args[0] if make is enums.make else args[2]):
            cls = make(*args)
        _received[cls] = _UNKNOWN
        return cls


@contextmanager
def _unnoticed(bases: tuple[Any, ...]) -> Iterator[None]:
    """Keep ``__init_subclass__`` of classes that go by value from being called.

    It was called where the subclass was defined, with the keywords that it was given, and what it
    did to classes comes with them. To call it again would do that twice.
    """
    owners = {
        base: vars(base)[_HOOK]
        for bottom in resolve_bases(bases)
        for base in bottom.__mro__
        if base in _received and _HOOK in vars(base)
    }
    for base in owners:
        setattr(base, _HOOK, classmethod(_ignore))
    try:
        yield
    finally:
        for base, hook in owners.items():
            setattr(base, _HOOK, hook)


def _ignore(_: type, /, **keywords: Any) -> None:
    pass


def _put(cls: type, state: _State) -> type:
    with _lock:
        if state.version != _current(cls, state.version):
            names = frozenset(state.content[0])
            for name in _received.get(cls, _UNKNOWN).names - names:
                with suppress(AttributeError):
                    delattr(cls, name)
            cloudpickle._class_setstate(cls, state.content)
            if cls.__bases__ != state.bases:
                cls.__bases__ = state.bases
            if issubclass(cls, enum.Enum):
                enums.put_into_members(cls, state.members)
            _received[cls] = _Put(state.version, names, _watch_of(cls))
    if not _owns:
        script.note(cls, cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(cls, ""))
    if _loading.states is not None:
        _loading.states.append((cls, state))
    return cls


def _watch_of(cls: type) -> Watch | None:
    if not _owns:
        return None
    try:
        return class_watch(cls)
    except Exception:
        # It is not seen if the program changes it; a result that comes is better than none.
        return None


def _current(cls: type, given: str) -> str:
    """Return the version in which a class is here; the given one if that is not to be put into it.

    What calls have set since in a class of this version stays.
    """
    if cls in _received:
        return _received[cls].version
    return given if _owns or cls not in _sent else _sent[cls].version


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
                _put(cls, state)
            return function(*args, **kwargs)

        return run
