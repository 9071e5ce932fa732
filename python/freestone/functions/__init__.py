"""Functions: their names, and how they travel.

``encode`` gives a function a name that is equal tomorrow for the same code, and the bytes that an
executor's ``load`` makes it from again.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freestone.functions.coroutines import is_coroutine_function, runnable
    from freestone.functions.encoding import EncodedFunction, encode, forget_encoded, label_of
    from freestone.functions.fingerprint import digest
    from freestone.functions.large import LARGE_NBYTES, LargeFunction, call_large
    from freestone.functions.loading import apply_python_path, load, python_path
    from freestone.functions.packages import (
        Package,
        Packages,
        enter,
        entered,
        folders,
        unwrapped,
    )
    from freestone.functions.pickling import dumps
    from freestone.functions.raised import described, dumps_failure
    from freestone.functions.role import enter_executor, in_executor

__all__ = [
    "LARGE_NBYTES",
    "EncodedFunction",
    "LargeFunction",
    "Package",
    "Packages",
    "apply_python_path",
    "call_large",
    "described",
    "digest",
    "dumps",
    "dumps_failure",
    "encode",
    "enter",
    "enter_executor",
    "entered",
    "folders",
    "forget_encoded",
    "in_executor",
    "is_coroutine_function",
    "label_of",
    "load",
    "preload",
    "python_path",
    "runnable",
    "unwrapped",
]

# Loaded when they are first used: a program starts its workers before it encodes functions, and
# executors encode none.
_HOMES = {
    "EncodedFunction": "encoding",
    "LARGE_NBYTES": "large",
    "LargeFunction": "large",
    "Package": "packages",
    "Packages": "packages",
    "apply_python_path": "loading",
    "call_large": "large",
    "described": "raised",
    "digest": "fingerprint",
    "dumps": "pickling",
    "dumps_failure": "raised",
    "encode": "encoding",
    "enter": "packages",
    "enter_executor": "role",
    "entered": "packages",
    "folders": "packages",
    "forget_encoded": "encoding",
    "in_executor": "role",
    "is_coroutine_function": "coroutines",
    "label_of": "encoding",
    "load": "loading",
    "python_path": "loading",
    "runnable": "coroutines",
    "unwrapped": "packages",
}


def preload() -> None:
    """Load what the first call of a program needs."""
    import_module("freestone.functions.encoding")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'freestone.functions' has no attribute {name!r}", name=name)
    home = import_module(f"freestone.functions.{_HOMES[name]}")
    for public, module in _HOMES.items():
        if module == _HOMES[name]:
            globals()[public] = getattr(home, public)
    return globals()[name]
