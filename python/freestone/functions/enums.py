"""Enumerations that go by value: their members as they are, with aliases and attributes.

Cloudpickle sends the values of members, and makes the members of these by what enumerations of
Python's do with values: aliases are missing then, and what an ``__init__`` or a ``__new__`` of the
script has made of a value.
"""

from __future__ import annotations

import enum
from types import FunctionType
from typing import Any

from cloudpickle import cloudpickle

__all__ = ["made_of", "make", "member_attributes", "own_of", "put_into_members"]


def own_of(cls: type[enum.Enum]) -> dict[str, Any]:
    """Return what is in an enumeration besides its members and what Python keeps of them."""
    members = cls.__members__
    return {
        key: value
        for key, value in vars(cls).items()
        if (key not in members and not key.startswith("_")) or _is_own(value, cls)
    }


def _is_own(value: object, cls: type) -> bool:
    plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return isinstance(plain, FunctionType) and plain.__module__ == cls.__module__


def member_attributes(cls: type[enum.Enum]) -> dict[str, dict[str, Any]]:
    """Return what members of an enumeration have besides their values, by their names.

    That is what its ``__init__`` or ``__new__`` sets, and what was set later.
    """
    found: dict[str, dict[str, Any]] = {}
    for member in cls.__members__.values():
        own = {key: value for key, value in vars(member).items() if not _is_pythons(key)}
        if own:
            found[member.name] = dict(sorted(own.items()))
    return found


def _is_pythons(key: str) -> bool:
    """Tell whether a name is one of those that enumerations keep for themselves."""
    return key.startswith("_") and key.endswith("_")


def put_into_members(cls: type[enum.Enum], members: dict[str, dict[str, Any]]) -> None:
    """Have members have these attributes, and no others."""
    before = member_attributes(cls)
    for name in before.keys() | members:
        own, attributes = vars(cls.__members__[name]), members.get(name, {})
        for key in before.get(name, {}).keys() - attributes:
            del own[key]
        own.update(attributes)


def made_of(cls: type[enum.Enum], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what `make` needs, from what cloudpickle's maker of enumerations does."""
    bases, name, qualname, _, module, tracker, _ = args
    members = {key: member.value for key, member in cls.__members__.items()}
    return bases, name, qualname, members, module, tracker, _contents(cls)


def _contents(cls: type[enum.Enum]) -> dict[str, tuple[Any, ...]] | None:
    """Return what the members' type makes them of; None if that follows from the values."""
    kind: Any = cls._member_type_  # type: ignore[attr-defined]
    made_by_new = any(
        "__new_member__" in vars(base) for base in cls.__mro__ if base.__module__ != "enum"
    )
    if kind is object and not made_by_new:
        return None
    contents: dict[str, tuple[Any, ...]] = {}
    for key, member in cls.__members__.items():
        content = _content(kind, member)
        if content is None:
            return None
        contents[key] = content
    return contents


def _content(kind: Any, member: enum.Enum) -> tuple[Any, ...] | None:
    """Return the arguments of ``__new__`` of a type for what is of this type in a member."""
    if kind.__new__ is object.__new__:
        return ()
    if hasattr(kind, "__getnewargs__"):
        return tuple(kind.__getnewargs__(member))
    if kind.__reduce__ is object.__reduce__:
        return None
    made, args, *_ = kind.__reduce__(member)
    return args if made is type(member) else None


def make(
    bases: tuple[Any, ...],
    name: str,
    qualname: str,
    members: dict[str, Any],
    module: str,
    tracker: str,
    contents: dict[str, tuple[Any, ...]] | None,
) -> type[enum.Enum]:
    """Make an enumeration with its members, and nothing else in it."""
    metaclass: Any = type(bases[-1])
    namespace = metaclass.__prepare__(name, bases)
    # What one of a base has set comes with the attributes.
    namespace["__init__"] = _set_nothing
    if contents is not None:
        namespace["__new__"] = _filled
    for key, value in members.items():
        given = value if contents is None else (contents[key], value)
        # Also one that is a function, which would be a method.
        namespace[key] = enum.member(given)
    cls: type[enum.Enum] = metaclass.__new__(metaclass, name, bases, namespace)
    cls.__module__, cls.__qualname__ = module, qualname
    del cls.__init__
    if contents is not None:
        del cls.__new_member__  # type: ignore[attr-defined]
    known: type[enum.Enum] = cloudpickle._lookup_class_or_track(tracker, cls)
    return known


def _set_nothing(self: Any, *_: Any) -> None:
    pass


def _filled(cls: Any, *given: Any) -> Any:
    """Make a member of what it is and its value; enumerations of tuples get both as one."""
    content, value = given if len(given) == 2 else given[0]
    member = cls._member_type_.__new__(cls, *content)
    member._value_ = value
    return member
