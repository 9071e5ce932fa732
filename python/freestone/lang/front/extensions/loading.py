"""All kernels that the settings name, by their names."""

from __future__ import annotations

import warnings
from typing import Any

from freestone.errors import ConfigurationError
from freestone.errors.base import did_you_mean
from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.extensions.catalog import CatalogError, read_catalog
from freestone.lang.front.extensions.functions import read_functions
from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.front.extensions.operations import MNEMONICS
from freestone.lang.front.parse.source import failure
from freestone.lang.settings import Settings

__all__ = ["kernels_of"]

_AS_WRITTEN = '(("norms.json", 1),)'
_read: dict[tuple[str, int], list[Kernel]] = {}


def kernels_of(settings: Settings) -> dict[str, list[Kernel]]:
    """Return the kernels of all files, and those of the program, by name.

    Of one name, those of the highest priority come first.

    Raises
    ------
    ScriptCompileError
        If a file can't be read, or is no catalog.
    ConfigurationError
        If the setting holds something else.
    """
    listed: list[Kernel] = []
    for item in _checked(settings.kernels):
        listed += [item] if isinstance(item, Kernel) else _kernels(*item)
    found: dict[str, list[Kernel]] = {}
    for kernel in sorted(listed, key=lambda kernel: -kernel.priority):
        found.setdefault(kernel.name, []).append(kernel)
    return found


def _checked(kernels: Any) -> tuple[Any, ...]:
    """Refuse a setting that is no tuple of kernels, and of files with their priorities."""
    if not isinstance(kernels, tuple):
        written = f"({kernels.name},)" if isinstance(kernels, Kernel) else _AS_WRITTEN
        raise _wrong(f"kernels={kernels!r} is no tuple: write {written}")
    for item in kernels:
        if isinstance(item, Kernel):
            continue
        if callable(item):
            name = getattr(item, "__name__", repr(item))
            problem = "is a function, and no kernel: decorate it with @freestone.lang.kernel(...)"
            raise _wrong(f"{name} in kernels {problem}")
        if not isinstance(item, tuple) or [*map(type, item)] != [str, int] or item[1] < 0:
            problem = f"a file is named by its path and its priority, as in {_AS_WRITTEN}"
            raise _wrong(f"{item!r} in kernels is no kernel: {problem}")
    return kernels


def _wrong(problem: str) -> ConfigurationError:
    return ConfigurationError(problem, key="kernels", origin="Settings")


def _kernels(path: str, priority: int) -> list[Kernel]:
    key = path, priority
    if key not in _read:
        read = {"py": read_functions, "json": read_catalog}.get(path.rpartition(".")[2])
        if read is None:
            why = "it is no catalog (.json), and no Python file (.py)"
            raise failure(ScriptCompileError, f"--kernel-ext={path} can't be loaded: {why}")
        try:
            _read[key] = read(path, priority)
        except CatalogError as error:
            problem = f"--kernel-ext={path} can't be loaded: {error}"
            raise failure(ScriptCompileError, problem) from error
        _warn_of_unknown(path, _read[key])
    return _read[key]


def _warn_of_unknown(path: str, kernels: list[Kernel]) -> None:
    """Name kernels of operations that nothing here computes; DAPHNE may have them."""
    for kernel in kernels:
        if kernel.is_typed and kernel.operation not in MNEMONICS:
            close = did_you_mean(kernel.operation, MNEMONICS)
            what = f"the kernel {kernel.name!r} is for {kernel.operation!r}, which is no operation"
            warnings.warn(f"--kernel-ext={path}: {what}{close}", RuntimeWarning, stacklevel=2)
