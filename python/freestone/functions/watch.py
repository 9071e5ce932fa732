"""Whether what a function refers to is still what it was when it was named."""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
import operator
import sys
import weakref
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, NamedTuple

from freestone._native.blocks import checksum
from freestone.errors import NotSerializableError
from freestone.functions.classes import virtual_subclasses
from freestone.functions.enums import member_attributes, own_of
from freestone.functions.fingerprint import MISSING, Walk, digest, is_special
from freestone.functions.values import IMMUTABLE

__all__ = ["Watch", "class_watch", "content_of"]

_STATELESS = frozenset({"ufunc", "_ArrayFunctionDispatcher", "builtin_function_or_method"})
_FEW, _DEEP = 64, 2
_LARGE_NBYTES = 1 << 20
_UNWATCHED = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl"})
"""What comes with a class, or changes when it is used."""
_HEAP_TYPE = 1 << 9
"""Set in the flags of classes that are made by code, and not compiled in."""
_Check = Callable[[Any], bool]


class _Watched(NamedTuple):
    """What one function refers to, none of which may keep the function alive."""

    function: Callable[[], FunctionType | None]
    code: CodeType
    same: tuple[tuple[str, Any], ...]
    weak: tuple[tuple[str, Callable[[], Any]], ...]
    cells: tuple[tuple[int, Any], ...]
    rest: tuple[tuple[str | int, _Check], ...]
    own: _Check | None


class Watch:
    """Notices when what a function uses is bound anew or mutated.

    That is its code, its globals, cells, defaults and attributes, and those of the functions that
    it uses; and what is in classes that go by value.

    Notes
    -----
    A check takes 70 ns per global name for constants, functions, classes and modules, and as long
    per cell with a constant, of which the methods of named tuples have many. What can be mutated in
    place, such as a list or an array, is hashed again: some µs and 1 ns per byte, a tenth of it
    for arrays of more than a megabyte. A class takes 100 ns per attribute.
    """

    __slots__ = ("_classes", "_functions", "_modules")

    def __init__(self, walk: Walk) -> None:
        self._functions = tuple(
            _watched(place, captured)
            for place, captured in walk.found
            if isinstance(place, FunctionType)
        )
        self._modules = tuple(
            (vars(place), str(key), _check(value))
            for place, captured in walk.found
            if isinstance(place, ModuleType)
            for key, value in captured.items()
        )
        self._classes = tuple(
            (weakref.ref(place), _class_check(place))
            for place, _ in walk.found
            if isinstance(place, type)
        )

    def is_unchanged(self) -> bool:
        """Whether all is as it was."""
        try:
            return self._is_unchanged()
        except ValueError:
            # A cell was emptied.
            return False

    def _is_unchanged(self) -> bool:
        for function_reference, code, same, weak, cells, rest, own in self._functions:
            function = function_reference()
            if function is None or function.__code__ is not code:
                return False
            if own is None:
                if not _is_bare(function):
                    return False
            elif not own(_own(function)):
                return False
            namespace = function.__globals__
            for key, value in same:
                if namespace.get(key, MISSING) is not value:
                    return False
            for key, reference in weak:
                if namespace.get(key, MISSING) is not reference():
                    return False
            if cells:
                closure = function.__closure__ or ()
                for place, value in cells:
                    if closure[place].cell_contents is not value:
                        return False
            if rest and not all(check(_now(function, place)) for place, check in rest):
                return False
        return all(
            check(namespace.get(key, MISSING)) for namespace, key, check in self._modules
        ) and all(check(reference()) for reference, check in self._classes)


def _watched(function: FunctionType, captured: dict[str | int, Any]) -> _Watched:
    same: list[tuple[str, Any]] = []
    weak: list[tuple[str, Callable[[], Any]]] = []
    cells: list[tuple[int, Any]] = []
    rest: list[tuple[str | int, _Check]] = []
    for key, value in captured.items():
        never_dies = _is_constant(value) or _is_builtin_type(value)
        if isinstance(key, str) and never_dies:
            same.append((key, value))
        elif isinstance(key, str) and isinstance(value, FunctionType | type):
            weak.append((key, weakref.ref(value)))
        elif isinstance(key, int) and never_dies and value is not MISSING:
            cells.append((key, value))
        else:
            rest.append((key, _check(value)))
    found = (tuple(same), tuple(weak), tuple(cells), tuple(rest))
    own = None if _is_bare(function) else _check(_own(function))
    return _Watched(weakref.ref(function), function.__code__, *found, own)


def _is_bare(function: FunctionType) -> bool:
    return (
        function.__defaults__ is None and function.__kwdefaults__ is None and not function.__dict__
    )


def _own(function: FunctionType) -> tuple[Any, ...]:
    """Return what a function has besides its code, as far as it is in its name."""
    attributes = {key: value for key, value in vars(function).items() if key != "__wrapped__"}
    return function.__defaults__, function.__kwdefaults__, attributes


def class_watch(cls: type) -> Watch:
    """Watch a class, and all that its methods refer to.

    Notes
    -----
    It takes as much to make as to name a function.
    """
    walk = _walked(cls)
    if all(place is not cls for place, _ in walk.found):
        # One that a module's file defines is passed over, as long as it goes by name.
        walk.found.append((cls, {}))
    return Watch(walk)


def content_of(cls: type) -> bytes:
    """Hash what is in a class and what its methods refer to, into 16 bytes."""
    return _walked(cls).digest()


def _walked(cls: type) -> Walk:
    walk = _Tolerant()
    with contextlib.suppress(RecursionError):
        walk.value(cls)
    return walk


class _Tolerant(Walk):
    """A walk that passes over what has no lasting name: it is watched by identity."""

    def refuse(self, value: object, reason: str, cause: Exception | None = None) -> None:
        """Go on."""


def _class_check(cls: type) -> _Check:
    """Make the test whether nothing in a class was bound anew or mutated since."""
    if issubclass(cls, enum.Enum):
        return _enum_check(cls)
    checks = [
        (key, _check_attribute(key, value))
        for key, value in vars(cls).items()
        if key not in _UNWATCHED
    ]
    count, bases = len(vars(cls)), tuple(map(weakref.ref, cls.__bases__))
    is_abstract, virtual = isinstance(cls, abc.ABCMeta), weakref.WeakSet(virtual_subclasses(cls))

    def is_same(now: Any) -> bool:
        if now is None or len(vars(now)) != count or len(now.__bases__) != len(bases):
            return False
        namespace = vars(now)
        return (
            all(base() is one for base, one in zip(bases, now.__bases__, strict=True))
            and all(check(namespace.get(key, MISSING)) for key, check in checks)
            and (not is_abstract or set(virtual) == virtual_subclasses(now))
        )

    return is_same


def _enum_check(cls: type[enum.Enum]) -> _Check:
    """Make the test whether an enumeration and its members have what they had.

    Members are bound once and for all, but what they have may be set at any time.
    """
    checks = [(key, _check_attribute(key, value)) for key, value in own_of(cls).items()]
    attributes, count = member_attributes(cls), len(vars(cls))
    of_members = [
        (name, len(vars(member)), _checks_of(attributes.get(name, {})))
        for name, member in cls.__members__.items()
    ]

    def is_same(now: Any) -> bool:
        if now is None or len(vars(now)) != count:
            return False
        namespace, members = vars(now), now.__members__
        return all(check(namespace.get(key, MISSING)) for key, check in checks) and all(
            len(own := vars(members[name])) == entries
            and all(check(own.get(key, MISSING)) for key, check in checks_of_member)
            for name, entries, checks_of_member in of_members
        )

    return is_same


def _checks_of(attributes: dict[str, Any]) -> list[tuple[str, _Check]]:
    return [(key, _check(value)) for key, value in attributes.items()]


def _check_attribute(key: str, value: Any) -> _Check:
    if isinstance(value, MemberDescriptorType | GetSetDescriptorType):
        # It holds the class, and comes with it.
        described = type(value)
        return lambda now: type(now) is described
    if isinstance(value, classmethod | staticmethod):
        bound, check = type(value), _check(value.__func__)
        return lambda now: type(now) is bound and check(now.__func__)
    if isinstance(value, property):
        checks = [_check(part) for part in (value.fget, value.fset, value.fdel)]
        return lambda now: (
            type(now) is property
            and all(
                check(part)
                for check, part in zip(checks, (now.fget, now.fset, now.fdel), strict=True)
            )
        )
    if isinstance(value, functools.cached_property):
        check = _check(value.func)
        return lambda now: type(now) is functools.cached_property and check(now.func)
    if is_special(key) and not isinstance(value, FunctionType):
        # What libraries note in a class, such as the fields of a data class.
        return lambda now: now is value
    return _check(value)


def _check(value: Any, depth: int = 0) -> _Check:
    """Make the test whether a value is still this one, without keeping alive what can die."""
    if _is_constant(value):
        return lambda now: now is value
    if isinstance(value, FunctionType | type | functools._lru_cache_wrapper):
        reference = weakref.ref(value)
        return lambda now: now is reference()
    if isinstance(value, enum.Enum) and value.name in type(value).__members__:
        # What it has is watched with its class.
        name, members = value.name, weakref.ref(type(value))
        return lambda now: (
            (cls := members()) is not None and now is cls.__members__.get(name, MISSING)
        )
    if _is_large_array(value):
        seen = _sum_of(value)
        return lambda now: _is_large_array(now) and _sum_of(now) == seen
    if depth < _DEEP and type(value) in (dict, list, tuple) and len(value) <= _FEW:
        return _check_items(value, depth + 1)
    try:
        expected = digest(value)
    except NotSerializableError:
        # Only what a module makes for itself comes here, such as a lock.
        return lambda now: now is value
    return lambda now: _digest_or_none(now) == expected


def _is_large_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return (
        numpy is not None
        and type(value) is numpy.ndarray
        and value.nbytes >= _LARGE_NBYTES
        and value.flags.c_contiguous
        and not value.dtype.hasobject
    )


def _sum_of(array: Any) -> tuple[Any, ...]:
    """Sum up an array in a tenth of the time that it takes to name it."""
    return array.dtype, array.shape, checksum(array.reshape(-1).view("u1"))


def _check_items(container: Any, depth: int) -> _Check:
    """Test a small container item by item: to hash functions in it is to walk all they refer to."""
    kind, count = type(container), len(container)
    keys = tuple(container) if kind is dict else ()
    if not all(map(_is_constant, keys)):
        expected = digest(container)
        return lambda now: _digest_or_none(now) == expected
    items = container.values() if kind is dict else container
    checks = [_check(item, depth) for item in items]

    def is_same(now: Any) -> bool:
        if type(now) is not kind or len(now) != count:
            return False
        values = now.values() if kind is dict else now
        # Keys by what they are: 1, True and 1.0 are equal and not the same.
        alike = all(map(operator.is_, now, keys)) if keys else True
        return alike and all(check(value) for check, value in zip(checks, values, strict=True))

    return is_same


def _digest_or_none(value: Any) -> bytes | None:
    try:
        return digest(value)
    except NotSerializableError:
        return None


def _is_constant(value: Any) -> bool:
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(_is_constant, value))
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return owner is None or isinstance(owner, ModuleType) or _is_builtin_type(owner)
    return (
        value is MISSING
        or kind in IMMUTABLE
        or isinstance(value, ModuleType)
        or kind.__name__ in _STATELESS
    )


def _is_builtin_type(value: Any) -> bool:
    """Tell whether a value is a type that nobody can change, such as tuple."""
    return isinstance(value, type) and not value.__flags__ & _HEAP_TYPE


def _now(function: FunctionType, place: str | int) -> Any:
    if isinstance(place, str):
        return function.__globals__.get(place, MISSING)
    try:
        return (function.__closure__ or ())[place].cell_contents
    except (ValueError, IndexError):
        return MISSING
