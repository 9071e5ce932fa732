"""What an executor has for the program's script: its classes, for those that look them up by name.

Pickle writes a class as its module and its name, and ``__main__`` is another one in an executor.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from types import ModuleType
from typing import NamedTuple

__all__ = ["become_script", "note"]


class _Class(NamedTuple):
    program: str
    content: str
    reference: weakref.ref[type]


_noted: dict[str, dict[str, _Class]] = {}
"""By name, and by the program that they are of: the class that was put here last."""


def note(cls: type, number: str) -> None:
    """Remember a class that was put here, if its number says that a script has it by its name."""
    program, *place = number.split(" ", 3)
    if len(place) == 3 and place[0] == "__main__":
        found = _Class(program, place[2], weakref.ref(cls))
        _noted.setdefault(place[1], {})[program] = found


def become_script() -> None:
    """Have ``__main__`` stand for the scripts of the programs whose calls this process runs."""
    sys.modules["__main__"] = _Script("__main__")


class _Script(ModuleType):
    """The module of that name."""

    def __getattr__(self, name: str) -> object:
        return _named(name)

    def __repr__(self) -> str:
        return "<module '__main__' of an executor, with classes that its calls name or were given>"


class _Outer:
    """A class that is not here, in which there are others that are."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        return _named(f"{self._name}.{name}")


def _named(name: str) -> object:
    living = [
        (known.content, found)
        for known in _noted.get(name, {}).values()
        if (found := known.reference()) is not None
    ]
    if len({content for content, _ in living}) > 1:
        # Which of them a pickle means can't be told. Pickle replaces what is raised here.
        text = f"scripts of several programs have different classes {name!r} in this executor, and "
        text += "so it can't be pickled by its name: define it in a module that calls can import"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        living = []
    if living:
        return living[-1][1]
    if any(known.startswith(f"{name}.") for known in _noted):
        return _Outer(name)
    raise AttributeError(f"module '__main__' of an executor has no class {name!r}")
