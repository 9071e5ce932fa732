"""Cloudpickle, and what it can't do."""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import cloudpickle

from freestone.functions.by_value import is_by_value, number, reduce_class
from freestone.functions.dispatch import is_dispatching, reduce_dispatching
from freestone.functions.generators import place_of_generator
from freestone.functions.modules import is_importable
from freestone.functions.scan import scan

__all__ = ["Pickler", "dumps", "pickled_by"]

# What the main module is called in children that multiprocessing spawns: no worker can import it.
# Cloudpickle's own function refuses a module before it is imported.
cloudpickle.cloudpickle._PICKLE_BY_VALUE_MODULES.add("__mp_main__")


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Cloudpickle that also sends functions with an ``lru_cache`` and cached properties.

    Classes that go by value keep their state where they are defined, and their slots. The
    generators of random numbers that are a process's own go by their names.
    """

    def reducer_override(self, value: Any) -> Any:
        """Take apart what cloudpickle would refuse, or send by a name that is not there."""
        kind = type(value)
        if kind is functools._lru_cache_wrapper and not is_importable(
            value, value.__module__ or "", value.__qualname__
        ):
            return _cached, (value.__wrapped__, value.cache_parameters())
        if kind is functools.cached_property:
            return _cached_property, (value.func, value.attrname)
        if (place := place_of_generator(value)) is not None:
            return getattr, (sys.modules[place[0]], place[1])
        if (
            kind is FunctionType
            and is_dispatching(value)
            and not is_importable(value, value.__module__ or "", value.__qualname__)
        ):
            return reduce_dispatching(value)
        if kind is FunctionType:
            _note_names_of_class_bodies(value.__code__)
        if isinstance(value, type):
            number(value)
        reduced = super().reducer_override(value)
        if isinstance(value, type) and is_by_value(reduced):
            return reduce_class(value, reduced)
        return reduced


def dumps(
    value: object, buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None
) -> bytes:
    """Pickle a value, its functions and classes by value if they can't be imported elsewhere."""
    return pickled_by(Pickler, value, buffer_callback)


def pickled_by(
    pickler: Callable[..., pickle.Pickler],
    value: object,
    buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None,
) -> bytes:
    """Pickle a value with a pickler of this kind; large buffers go to the callback, if given."""
    with io.BytesIO() as file:
        pickler(file, protocol=5, buffer_callback=buffer_callback).dump(value)
        return file.getvalue()


def _note_names_of_class_bodies(code: CodeType) -> None:
    """Have cloudpickle send the globals that classes in a function use while they are made.

    It knows those of functions only, which other instructions load.
    """
    known = cloudpickle.cloudpickle._extract_code_globals(code)
    known.update(dict.fromkeys(scan(code).globals))


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _cached_property(function: Callable[[Any], Any], name: str | None) -> Any:
    made = functools.cached_property(function)
    made.attrname = name
    return made
