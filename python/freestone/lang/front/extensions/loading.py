"""All kernels that the settings name, by their names."""

from __future__ import annotations

from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.extensions.catalog import CatalogError, read_catalog
from freestone.lang.front.extensions.functions import read_functions
from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.front.parse.source import failure
from freestone.lang.settings import Settings

__all__ = ["kernels_of"]

_read: dict[tuple[str, int], list[Kernel]] = {}


def kernels_of(settings: Settings) -> dict[str, list[Kernel]]:
    """Return the kernels of all files, and those of the program, by name.

    Of one name, those of the highest priority come first.

    Raises
    ------
    ScriptCompileError
        If a file can't be read, or is no catalog.
    """
    listed: list[Kernel] = []
    for item in settings.kernels:
        listed += [item] if isinstance(item, Kernel) else _kernels(*item)
    found: dict[str, list[Kernel]] = {}
    for kernel in sorted(listed, key=lambda kernel: -kernel.priority):
        found.setdefault(kernel.name, []).append(kernel)
    return found


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
    return _read[key]
