"""Classes in the name of a function."""

from __future__ import annotations

import abc
import enum
import functools
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from freestone.functions import enums, modules

if TYPE_CHECKING:
    from freestone.functions.fingerprint import Walk

__all__ = ["virtual_subclasses", "write_class"]

_PASSED_OVER = frozenset(
    {
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__qualname__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    }
)


def write_class(walk: Walk, cls: type) -> None:
    """Write a class: where it is installed, or else its bases and all that is in it."""
    module, name = cls.__module__, cls.__qualname__
    importable = walk.is_importable(cls, module, name)
    if cls.__module__ == "builtins" or (importable and not modules.is_user(module)):
        walk.reference(module, name)
        return
    if not walk.once(cls):
        return
    home = module if importable and modules.user_module(module) else None
    if home is not None:
        walk.names[home] = None
    if home is None:
        walk.found.append((cls, {}))
    walk.write("class", cls.__name__)
    with walk.body(f"class {name!r}", home):
        walk.values(base for base in cls.__bases__ if base is not object)
        if type(cls) is not type:
            walk.value(type(cls))
        for key, value in sorted(_namespace(cls).items()):
            with walk.at(f"class attribute {name}.{key}"):
                walk.write("item", key)
                _write_item(walk, value)
        if virtual := virtual_subclasses(cls):
            walk.write("virtual subclasses", *walk.alone(virtual, virtual))


def virtual_subclasses(cls: type) -> frozenset[type]:
    """Return the classes that an abstract one was made a base of by its ``register``."""
    if not isinstance(cls, abc.ABCMeta):
        return frozenset()
    references = abc._get_dump(cls)[0]  # type: ignore[attr-defined]
    return frozenset(found for reference in references if (found := reference()) is not None)


def _namespace(cls: type) -> dict[str, Any]:
    namespace = dict(vars(cls))
    if issubclass(cls, enum.Enum):
        known: dict[str, enum.Enum] = dict(cls.__members__)
        members = {f"member {key}": member.value for key, member in known.items()}
        more = {"members in order": tuple(known)}
        attributes = {
            f"attributes of {key}": one for key, one in enums.member_attributes(cls).items()
        }
        return enums.own_of(cls) | members | more | attributes
    return {key: value for key, value in namespace.items() if key not in _PASSED_OVER}


def _write_item(walk: Walk, value: Any) -> None:
    if isinstance(value, classmethod | staticmethod):
        walk.write(type(value).__name__)
        walk.value(value.__func__)
    elif isinstance(value, property):
        walk.write("property")
        walk.values((value.fget, value.fset, value.fdel))
    elif isinstance(value, functools.cached_property):
        walk.write("cached property")
        walk.value(value.func)
    elif isinstance(value, MemberDescriptorType):
        walk.write("slot", value.__name__)
    else:
        walk.value(value)
