"""Kernels of the user's: functions in Python files that scripts call by ``sum::name(X)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.types import DTYPES, Type
from freestone.lang.settings import Settings

Kernel = Callable[..., Any]
_loaded: dict[str, dict[str, Kernel]] = {}


def kernels_of(settings: Settings) -> dict[str, Kernel]:
    """Return the functions of all files; of one name, that of the highest priority.

    Raises
    ------
    ScriptCompileError
        If a file can't be run.
    """
    found: dict[str, Kernel] = {}
    for path, _ in sorted(settings.kernels, key=lambda item: item[1]):
        found.update(_functions(path))
    return found


def _functions(path: str) -> dict[str, Kernel]:
    if path not in _loaded:
        found = {
            name: item
            for name, item in _names(path).items()
            if callable(item) and not isinstance(item, type) and not name.startswith("_")
        }
        if not found:
            raise _refused(path, "it defines no function")
        _loaded[path] = found
    return _loaded[path]


def _names(path: str) -> dict[str, Any]:
    """Run a file of Python's, and return what it defines."""
    import runpy

    if not path.endswith(".py"):
        raise _refused(path, "it is no Python file: a kernel is a function in a file named .py")
    try:
        return runpy.run_path(path)
    except (Exception, SystemExit) as error:
        raise _refused(path, f"{type(error).__name__}: {error}") from error


def _refused(path: str, why: str) -> ScriptCompileError:
    return failure(ScriptCompileError, f"--kernel-ext={path} can't be loaded: {why}")


def called(kernel: Kernel, op: Op, operands: list[Any]) -> tuple[Any, ...]:
    """Call a kernel with NumPy's matrices and Python's scalars.

    Raises
    ------
    ValueError
        If it returns something else than the operation makes.
    """
    made = kernel(*operands)
    results = made if len(op.results) > 1 else (made,)
    return tuple(
        _checked(op, value, result.type) for value, result in zip(results, op.results, strict=True)
    )


def _checked(op: Op, value: Any, type: Type) -> Any:
    import numpy as np

    if type.data == "scalar":
        return np.asarray(value, DTYPES[type.cell]).item()
    if type.data != "matrix":
        return value
    cells = np.asarray(value, DTYPES[type.cell])
    rows, columns = (*cells.shape, 0, 0)[:2]
    fits = type.rows in (None, rows) and type.columns in (None, columns)
    if cells.ndim != 2 or not fits:
        problem = f"the kernel {op.kernel!r} returns cells of shape {cells.shape}"
        raise ValueError(f"{problem}, where {op.name} makes a {type}")
    return cells
