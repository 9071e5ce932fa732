"""Scripts: what is wrong with them, and where."""

from __future__ import annotations

from typing import ClassVar

from freestone.errors.base import FreestoneError


class ScriptError(FreestoneError):
    """Something is wrong with a script, or with an expression of lazy arrays.

    Attributes
    ----------
    status : int
        What ``freestone run`` exits with.
    problem : str
        What is wrong, without the place.
    file : str or None
        The script; None where there is no script.
    line, column : int or None
        Where in it, counted from 1.
    """

    slug = "script"
    status: ClassVar[int] = 3
    problem: str
    file: str | None
    line: int | None
    column: int | None


class ScriptSyntaxError(ScriptError, ValueError):
    """The script can't be read: its syntax, a name that is not known, an argument."""

    slug = "script-syntax"
    status = 1


class ScriptCompileError(ScriptError, TypeError):
    """The types or shapes in the script do not fit."""

    slug = "script-compile"
    status = 2


class ScriptRunError(ScriptError, RuntimeError):
    """The script failed while it ran."""

    slug = "script-run"
    status = 3


class ScriptValueError(ScriptRunError, ValueError):
    """An operation on arrays of Python's was given values that it has no result for."""

    slug = "script-value"


class ScriptStoppedError(ScriptRunError):
    """The script called ``stop``."""

    slug = "script-stopped"
