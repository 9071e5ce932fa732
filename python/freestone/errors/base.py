"""The root, and what all errors share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

E = TypeVar("E", bound=BaseException)
_SLOTS = ("errno", "filename", "name", "path")
# What notes begin with that say where an exception comes from.
_RAISED_BY, _REMOTE = "raised by task ", "remote traceback:\n"


class FreestoneError(Exception):
    """The root of all errors of freestone.

    Attributes
    ----------
    slug : str
        A short name that never changes, for scripts.
    """

    slug: ClassVar[str] = "error"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        for key, value in fields.items():
            setattr(self, key, value)

    def __str__(self) -> str:
        """Give the message alone, also where the built-in would add an errno."""
        return str(self.args[0]) if self.args else self.slug

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message, fields and notes, without the constructor."""
        state = {key: getattr(self, key) for key in _SLOTS if hasattr(self, key)}
        return (_restore, (type(self), self.args, state | self.__dict__))


def _restore(
    kind: type[FreestoneError], args: tuple[Any, ...], state: dict[str, Any]
) -> FreestoneError:
    error = kind.__new__(kind)
    error.args = args
    for key, value in state.items():
        setattr(error, key, value)
    return error


def attach_remote(
    exception: E,
    traceback: str,
    label: str,
    worker: str | int | None = None,
    attempt: int | None = None,
) -> E:
    """Add to an exception where it comes from, as notes (PEP 678).

    Parameters
    ----------
    exception : BaseException
        As it was raised in the executor.
    traceback : str
        The remote traceback; may be empty.
    label : str
        The task.
    worker : str or int, optional
        Where it ran.
    attempt : int, optional
        Which attempt it was, counted from 1.

    Returns
    -------
    BaseException
        The same exception.
    """
    where = on_worker(worker)
    which = "" if attempt is None else f", attempt {attempt}"
    exception.add_note(f"{_RAISED_BY}{label!r}{where}{which}")
    if traceback:
        exception.add_note(_REMOTE + textwrap.indent(traceback.rstrip(), "  "))
    return exception


def is_origin(note: str) -> bool:
    """Whether a note of an exception says where it comes from."""
    return note.startswith((_RAISED_BY, _REMOTE))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Give ``; did you mean 'x'?`` for the closest known name, or nothing.

    Examples
    --------
    >>> did_you_mean("worker", ["workers", "memory"]), did_you_mean("zzz", ["memory"])
    ("; did you mean 'workers'?", '')
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def on_worker(worker: str | int | None) -> str:
    """Give `` on worker-1``, or nothing."""
    if worker is None:
        return ""
    return f" on worker-{worker}" if isinstance(worker, int) else f" on {worker}"
