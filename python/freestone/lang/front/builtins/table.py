"""The table of built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from freestone import plugins
from freestone.errors.base import did_you_mean
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value

Lower = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function.

    Attributes
    ----------
    name : str
        Its name in scripts.
    required, optional : tuple of str
        Its parameters, in order.
    rest : str
        What the parameters after them are called; "" if there are none.
    lower : callable
        Checks the arguments and appends the operations.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    rest: str
    lower: Lower

    @property
    def signature(self) -> str:
        """How it is called: ``seq(from, to[, inc])``."""
        words = ", ".join(self.required)
        for word in self.optional:
            words += f"[, {word}]" if words else f"[{word}]"
        if self.rest:
            words += f"{', ' if words else ''}{self.rest}, ..."
        return f"{self.name}({words})"


BUILTINS: dict[str, Builtin] = {}
"""Those of this package, which others can't replace."""
GROUP = "freestone.builtins"
"""The entry points by which other packages offer built-in functions."""


def find(name: str) -> Builtin | None:
    """Return a built-in function, of this package or another one.

    Raises
    ------
    PluginError
        When it is another package's, and can't be used.
    """
    found = BUILTINS.get(name) or plugins.load(GROUP, name, Builtin)
    if found is not None and name not in BUILTINS and found.name != name:
        raise plugins.wrong(GROUP, name, f"is called {found.name!r}; give both one name")
    return found


def all_names() -> list[str]:
    """Return the names of all built-in functions."""
    return [*BUILTINS, *plugins.names(GROUP)]


def builtin(names: str, parameters: str = "") -> Callable[[Lower], Lower]:
    """Register a function under one or more names.

    Parameters
    ----------
    names : str
        Separated by blanks.
    parameters : str
        Separated by blanks; ``?`` follows one that may be left out, ``*`` one that may be
        repeated.
    """

    def register(lower: Lower) -> Lower:
        for name in names.split():
            BUILTINS[name] = Builtin(name, *parameters_of(parameters), lower)
        return lower

    return register


def parameters_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the parameters that are required, those that are optional, and the last ones' name."""
    words = text.split()
    required = tuple(word for word in words if word[-1] not in "?*")
    optional = tuple(word[:-1] for word in words if word.endswith("?"))
    return required, optional, "".join(word[:-1] for word in words if word.endswith("*"))


INSTEAD = {
    "CSR": "--select-matrix-repr has matrices stored as CSR where they are sparse",
    "Dense": "matrices are dense, unless --select-matrix-repr has sparse ones stored as CSR",
    "externalSql": "sql asks frames that registerView has named, and readFrame reads files",
    "group": "groupSum sums by columns, and sql has GROUP BY",
    "parfor": "--vec and --distributed run the operations of a script in parallel",
}
"""What there is for names that others than DaphneDSL have."""


def instead_of(name: str, more: Sequence[str] = ()) -> str:
    """Return what to add to the error for a function that there is not."""
    if name in INSTEAD:
        return f": {INSTEAD[name]}"
    return did_you_mean(name, [*all_names(), *more])


def lower(
    emitter: Emitter, name: str, arguments: Sequence[Value], keywords: dict[str, Value]
) -> list[Value]:
    """Check a call of a built-in function, append its operations, and return its results."""
    function = find(name)
    if function is None:
        emitter.refuse(f"there is no function {name!r}{instead_of(name)}")
    placed = _placed(emitter, function, list(arguments), keywords)
    made = function.lower(emitter, *placed)
    return list(made) if isinstance(made, list | tuple) else [made]


def _placed(
    emitter: Emitter, function: Builtin, arguments: list[Value], keywords: dict[str, Value]
) -> list[Value | None]:
    names = function.required + function.optional
    if not keywords and len(function.required) <= len(arguments) <= len(names):
        return [*arguments]
    for word in keywords:
        if word not in names:
            known = did_you_mean(word, names)
            emitter.refuse(f"{function.signature} has no parameter {word!r}{known}")
        if word in names[: len(arguments)]:
            emitter.refuse(f"argument {word!r} of {function.signature} is given twice")
    missing = [name for name in function.required[len(arguments) :] if name not in keywords]
    if missing:
        emitter.refuse(f"{function.signature} needs {', '.join(missing)}")
    if len(arguments) > len(names) and not function.rest:
        emitter.refuse(f"{function.signature} is given {len(arguments)} arguments")
    rest = [keywords.get(name) for name in names[len(arguments) :]]
    while rest and rest[-1] is None:
        rest.pop()
    return [*arguments, *rest]
