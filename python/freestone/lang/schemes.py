"""Schemes of loops: how the rows of a pipeline are cut into tasks, also by other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import index
from typing import Protocol, runtime_checkable

from freestone.enumerations import SCHEMES
from freestone.errors import did_you_mean
from freestone.plugins import load, names, wrong

__all__ = ["GROUP", "Scheme", "cut_by"]

GROUP = "freestone.schemes"
"""The entry points in which other packages offer schemes."""

Cut = Callable[[int, int], list[int]]


@runtime_checkable
class Scheme(Protocol):
    """How rows are cut into tasks, which idle threads take one after another."""

    def sizes(self, rows: int, workers: int) -> Iterable[int]:
        """Yield the rows of each task, the first ones first.

        Parameters
        ----------
        rows
            How many rows there are, one at least.
        workers
            How many threads take tasks.

        Returns
        -------
        iterable of int
            Whole numbers from 1 on. It is read until all rows are in tasks, so it may go on for
            ever, and its last size may be too large.

        Notes
        -----
        Called once for each pipeline that runs, before its threads begin; with
        ``pre_partition``, once for each queue. The same arguments have to give the same sizes: sums
        of floats are added task by task.
        """
        ...


def cut_by(name: str) -> str | Cut:
    """Find how a scheme cuts rows.

    Parameters
    ----------
    name
        One of ``SCHEMES``, or that of an entry point in ``freestone.schemes``.

    Returns
    -------
    str or callable
        The name of one that the engine has; else a function of rows and workers.

    Raises
    ------
    ValueError
        When there is no such scheme.
    PluginError
        When a package offers it, and it can't be used.
    """
    if name in SCHEMES:
        return name
    scheme = load(GROUP, name, Scheme)  # type: ignore[type-abstract]
    if scheme is None:
        known = [*SCHEMES, *names(GROUP)]
        raise ValueError(
            f"there is no scheme {name!r}: there are {', '.join(known)}{did_you_mean(name, known)}"
        )
    return partial(_sizes, name, scheme)


def _sizes(name: str, scheme: Scheme, rows: int, workers: int) -> list[int]:
    """Return the sizes of tasks that hold all rows; refuses what is none."""
    found: list[int] = []
    left = rows
    call = f"and its sizes({rows}, {workers})"
    try:
        for size in scheme.sizes(rows, workers):
            found.append(index(size))
            left -= found[-1]
            if found[-1] < 1:
                reason = f"{call} has {size} after {len(found) - 1} others; each is 1 at least"
                raise wrong(GROUP, name, reason)
            if left <= 0:
                # The engine counts to 2**64, and needs no more than the rows that are left.
                found[-1] += left
                return found
    except ImportError:
        raise
    except Exception as error:
        reason = f"{call} fails: {error} ({type(error).__name__}); mend or uninstall it"
        raise wrong(GROUP, name, reason) from error
    reason = f"{call} ends with {left} rows in no task; go on until all have one"
    raise wrong(GROUP, name, reason)
