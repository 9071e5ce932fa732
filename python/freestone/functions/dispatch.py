"""Functions of ``functools.singledispatch``: what they are made of is in their registries.

What they keep besides, in closures, has weak references, which belong to a process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freestone.functions.fingerprint import Walk

__all__ = ["is_dispatching", "reduce_dispatching", "write_dispatching"]

_CODE = functools.singledispatch(lambda value: value).__code__  # type: ignore[attr-defined]
_PYTHONS = frozenset({"registry", "dispatch", "register", "_clear_cache", "__wrapped__"})


def is_dispatching(function: FunctionType) -> bool:
    """Tell whether ``singledispatch`` has made a function."""
    return function.__code__ is _CODE


def write_dispatching(walk: Walk, function: Any) -> None:
    """Write a dispatching function: what is called for which class, and its own attributes."""
    walk.write("singledispatch", function.__name__)
    walk.found.append((function, {}))
    for cls, registered in function.registry.items():
        with walk.at(f"what is registered for {cls.__qualname__}"):
            walk.values((cls, registered))
    for key, value in sorted(_own(function).items()):
        with walk.at(f"attribute {key!r}"):
            walk.write("attribute", key)
            walk.value(value)


def reduce_dispatching(function: Any) -> tuple[Any, ...]:
    """Take a dispatching function apart; what is registered in it may refer to it."""
    state = dict(function.registry), _own(function)
    return _made, (function.__name__,), state, None, None, _put


def _own(function: FunctionType) -> dict[str, Any]:
    return {key: value for key, value in vars(function).items() if key not in _PYTHONS}


def _made(name: str) -> Callable[..., Any]:
    def undefined(*_: Any) -> Any:
        raise NotImplementedError

    undefined.__name__ = name
    return functools.singledispatch(undefined)


def _put(made: Any, state: tuple[dict[type, Callable[..., Any]], dict[str, Any]]) -> None:
    registry, own = state
    for cls, registered in registry.items():
        made.register(cls, registered)
    functools.update_wrapper(made, registry[object])
    vars(made).update(own)
