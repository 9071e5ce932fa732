"""Packages of modules that calls bring along: importable while such a call runs.

A process runs calls of several programs, each with its own versions. What was imported with one set
of packages is put aside when another is entered, and taken back with its own set.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from freestone.functions.loading import Resident, exchange_resident

__all__ = ["Package", "Packages", "enter", "entered", "folders", "unwrapped", "wrapped"]


class Package(NamedTuple):
    """Modules that were uploaded together.

    Attributes
    ----------
    key : str
        32 hex digits over their files.
    modules : tuple of str
        The names that can be imported, without those inside of others.
    """

    key: str
    modules: tuple[str, ...]


Packages = tuple[Package, ...]
"""Those of a call: where two have a module of one name, the first is imported."""


class _Imported(NamedTuple):
    modules: dict[str, ModuleType]
    resident: dict[str, Resident]


_entered: Packages = ()
_known: dict[Packages, Packages] = {}
# No pickle begins so.
_MARK = b"packages"
_folders: list[str] = []
_aside: dict[Packages, _Imported] = {}
_MAX_ASIDE = 16
"""Of how many sets what was imported is kept; of others it is imported again."""


def wrapped(definition: bytes, packages: Packages) -> bytes:
    """Return a function's definition together with the packages of its calls."""
    return _MARK + pickle.dumps((packages, definition), protocol=5)


def unwrapped(definition: bytes) -> tuple[Packages, bytes]:
    """Return the packages of a function's calls, equal ones as one object, and its definition."""
    if not definition.startswith(_MARK):
        return (), definition
    packages, plain = pickle.loads(definition[len(_MARK) :])
    return _known.setdefault(packages, packages), plain


def entered() -> Packages:
    """Return the packages of the call that runs in this process, or ran last."""
    return _entered


def folders() -> list[str]:
    """Return the folders where they lie."""
    return list(_folders)


def enter(packages: Packages, folder_of: Callable[[Package], str]) -> None:
    """Have imports find these packages, before all else, and no others.

    Parameters
    ----------
    packages
        Those of the call that is about to begin.
    folder_of
        Returns the folder on this node where a package lies. What it raises leaves all as it was.
    """
    global _entered
    if packages == _entered:
        return
    places = [folder_of(package) for package in packages]
    known = _aside.pop(packages, _Imported({}, {}))
    resident = exchange_resident(known.resident)
    names = {name for package in (*_entered, *packages) for name in package.modules}
    # Modules of the program's that import one of them have its functions, too.
    names |= {_top(name) for name in resident}
    aside = {name: sys.modules[name] for name in list(sys.modules) if _top(name) in names}
    for name in aside:
        del sys.modules[name]
    _aside[_entered] = _Imported(aside, resident)
    if len(_aside) > _MAX_ASIDE:
        del _aside[next(packages for packages in _aside if packages)]
    sys.modules.update(known.modules)
    sys.path[:] = places + [place for place in sys.path if place not in _folders]
    _folders[:] = places
    _entered = packages
    importlib.invalidate_caches()


def _top(name: str) -> str:
    return name.partition(".")[0]
