"""``%load_ext freestone``: the cell magic ``%%freestone`` for Jupyter and IPython."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from freestone.cluster.nested import current
from freestone.errors import UsageError

__all__ = ["load_ipython_extension", "run_cell"]

_DAPHNE = "--daphne"


def load_ipython_extension(shell: Any) -> None:
    """Give a shell of IPython's the cell magic ``%%freestone``.

    ``%%freestone`` runs a cell as a task of the open cluster: it gets the variables that the cell
    reads, and what the cell assigns is there afterwards. ``%%freestone --daphne name=value ...``
    runs the cell as a script in DaphneDSL, with arguments.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        Given by ``%load_ext``.
    """

    def freestone(line: str, cell: str) -> None:
        """Run a cell as a task, or with --daphne as a script."""
        script, *words = line.split() or [""]
        if script == _DAPHNE:
            from freestone.lang.script import run_text

            run_text(cell, words, file="cell")
        elif script:
            raise UsageError(f"%%freestone takes {_DAPHNE} or nothing, not {script!r}")
        else:
            shell.user_ns.update(_submit(cell, shell.user_ns))

    shell.register_magic_function(freestone, "cell", "freestone")


def _submit(cell: str, variables: dict[str, Any]) -> dict[str, Any]:
    """Run a cell as a task of the open cluster; give what it assigns."""
    cluster = current()
    if cluster is None:
        raise UsageError("no cluster is open; run cluster = freestone.Cluster() first")
    read, assigned = _names(cell)
    inputs = {name: variables[name] for name in sorted(read) if name in variables}
    task = cluster.submit(run_cell, cell, inputs, sorted(assigned), pure=False)
    try:
        found: dict[str, Any] = task.result()
    except BaseException:
        task.cancel()
        raise
    return found


def _names(cell: str) -> tuple[set[str], set[str]]:
    """Find the names that a cell reads, and those that it may bind at its top."""
    nodes = ast.walk(ast.parse(cell))
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    return read, set(compile(cell, "<cell>", "exec").co_names)


def run_cell(cell: str, inputs: dict[str, Any], assigned: Iterable[str]) -> dict[str, Any]:
    """Run a cell where the task is; give those of its names that it has bound anew.

    Parameters
    ----------
    cell : str
        Python.
    inputs : dict
        The variables that it reads.
    assigned : iterable of str
        The names that it may bind.

    Returns
    -------
    dict
        The values of those that it has bound, modules left out. Lists and the like that the cell
        changes in place stay as they were in the program.
    """
    variables: dict[str, Any] = {"__name__": "__main__", **inputs}
    exec(compile(cell, "<cell>", "exec"), variables)
    return {
        name: variables[name]
        for name in assigned
        if name in variables
        and variables[name] is not inputs.get(name, variables)
        and not isinstance(variables[name], ModuleType)
    }
