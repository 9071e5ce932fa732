"""Functions as an executor loads them."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from freestone.errors import FunctionLoadError
from freestone.functions import modules
from freestone.functions.by_value import States
from freestone.functions.coroutines import runnable

__all__ = [
    "Resident",
    "apply_python_path",
    "exchange_resident",
    "load",
    "python_path",
]


class Resident(NamedTuple):
    """A module of the user's as it was executed here last."""

    digest: bytes
    generation: int


_resident: dict[str, Resident] = {}
_STARTED_NS = time.time_ns()


def load(definition: bytes | memoryview) -> Callable[..., Any]:
    """Make a function from its definition.

    Parameters
    ----------
    definition : bytes
        As :func:`freestone.functions.encode` gave it.

    Returns
    -------
    callable
        The function, its modules imported. A coroutine function is run to its end when it is
        called.

    Raises
    ------
    FunctionLoadError
        If a module is missing, fails when it is imported, or has another content than the client's.

    Notes
    -----
    A user's module that is resident from before but whose file has changed is executed again, and
    so are those that import it.
    """
    label, hoists, users, payload = pickle.loads(definition)
    newest = 0
    for name, file, digest in users:
        newest = max(newest, _ensure(label, modules.UserModule(name, file, digest), newest))
    for name, names in hoists:
        # An import that may fail is the function's own business when it is called.
        with contextlib.suppress(Exception):
            __import__(name, fromlist=names)
    try:
        with States.noted() as states:
            function: Callable[..., Any] = pickle.loads(payload)
    except ImportError as error:
        raise _refused(label, error.name or "?", error) from error
    except AttributeError as error:
        module = getattr(getattr(error, "obj", None), "__name__", "?")
        raise _refused(label, module, error) from error
    return States(states).before(runnable(function))


def exchange_resident(resident: Mapping[str, Resident]) -> dict[str, Resident]:
    """Take others for the modules that are resident; return those that were."""
    former = dict(_resident)
    _resident.clear()
    _resident.update(resident)
    return former


def python_path() -> list[str]:
    """Give the folders where this process finds modules, absolute and without Python's own."""
    paths = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    own_zip = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"
    return [
        path
        for path in paths
        if not modules.is_installed(path) and os.path.basename(path) != own_zip
    ]


def apply_python_path(entries: Iterable[str]) -> None:
    """Find modules also where another process does: its folders come first, in its order."""
    present = {os.path.abspath(entry) for entry in sys.path}
    sys.path[:0] = [entry for entry in entries if entry not in present and os.path.exists(entry)]
    importlib.invalidate_caches()


def _ensure(label: str, wanted: modules.UserModule, newest: int) -> int:
    """Have a module of this content in this process; give the generation of its execution."""
    name = wanted.name
    try:
        known = _resident.get(name) or _first_sight(wanted)
        if known.digest != wanted.digest:
            newest = 1 + max((resident.generation for resident in _resident.values()), default=0)
        if known.generation < newest:
            known = _resident[name] = Resident(_execute(name), newest)
    except Exception as error:
        raise _refused(label, name, error) from error
    if known.digest != wanted.digest:
        reason = f"differs from the client's {wanted.file}: it was edited after the submission"
        reason += ", or after its upload"
        raise FunctionLoadError(label=label, module=name, reason=reason)
    return known.generation


def _first_sight(wanted: modules.UserModule) -> Resident:
    name = wanted.name
    was_there = name in sys.modules
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # The client may have found its folder since this process took over where it looks.
        folder = modules.folder_of(wanted)
        if error.name != name.partition(".")[0] or not os.path.exists(wanted.file):
            raise
        sys.path.append(folder)
        module = importlib.import_module(name)
    found = modules.user_module(name)
    digest = found.digest if found else b""
    if found and _is_doubtful(module, found.file, was_there):
        digest = _execute(name)
    _resident[name] = Resident(digest, 0)
    return _resident[name]


def _is_doubtful(module: ModuleType, file: str, was_there: bool) -> bool:
    """Whether what was executed may not be what the file holds now."""
    changed_ns = os.stat(file).st_mtime_ns
    if was_there and changed_ns >= _STARTED_NS:
        return True
    cached = getattr(module.__spec__, "cached", None)
    # Python takes a .pyc for current if the source has its size and the same whole second.
    return bool(cached and os.path.exists(cached) and os.stat(cached).st_mtime_ns < changed_ns)


def _execute(name: str) -> bytes:
    """Execute a module's source again in its own namespace, as ``importlib.reload`` would."""
    module = sys.modules[name]
    found = modules.user_module(name)
    if found is None or not found.file.endswith(".py"):
        return found.digest if found else b""
    with open(found.file, "rb") as file:
        code = compile(file.read(), found.file, "exec", dont_inherit=True)
    exec(code, vars(module))
    return found.digest


def _refused(label: str, module: str, error: Exception) -> FunctionLoadError:
    if isinstance(error, ModuleNotFoundError):
        return FunctionLoadError(label=label, module=error.name or module, reason="is missing")
    reason = f"can't be used: {type(error).__name__}: {error}"
    return FunctionLoadError(label=label, module=module, reason=reason)
