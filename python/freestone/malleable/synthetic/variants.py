"""Configurations of the paper's authors' tool of which one file stands for many.

``2:4`` gives a configuration with each of both values. `Procs` and `FactorS` of a group go
together, and in such a file `ADR` is a percentage of `SDR`, which is all data then.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from freestone.malleable.synthetic.settings import wrong

__all__ = ["expand"]

Table = dict[str, Any]
Path = tuple[str | int, ...]
# Values of some keys that go together, by the path of each.
Choice = dict[Path, str]


def expand(table: Table, delimiter: str = ":") -> list[Table]:
    """Return a table for each combination of values.

    Parameters
    ----------
    table : dict
        With ``general``, ``phases`` and ``groups``, as today's files have it.
    delimiter : str
        Between values; ``,`` in files of the paper's time, whose `ADR` are bytes.

    Raises
    ------
    ConfigurationError
        If `FactorS` has not as many values as `Procs`, a value is empty, `ADR` is no percentage,
        or all combinations resize to as many processes as there are.
    """
    axes = list(_axes(table, (), delimiter))
    if not axes:
        return [table]
    found = []
    for chosen in itertools.product(*axes):
        made = copy.deepcopy(table)
        for path, word in (pair for choice in chosen for pair in choice.items()):
            _at(made, path[:-1])[path[-1]] = word
        if delimiter == ":":
            _take_percentage(made["general"])
        sizes = [int(group["Procs"]) for group in made["groups"]]
        if all(one != other for one, other in itertools.pairwise(sizes)):
            found.append(made)
    if not found:
        raise wrong("Procs", sizes, "another number in each group than in the one before")
    return found


def _axes(value: Any, path: Path, delimiter: str) -> Iterator[list[Choice]]:
    """Yield the choices of each key that has several values."""
    if isinstance(value, dict):
        if "Procs" in value and _is_several(value["Procs"], delimiter):
            yield _sizes(value, path, delimiter)
            value = {key: its for key, its in value.items() if key not in ("Procs", "FactorS")}
        for key, its in value.items():
            yield from _axes(its, (*path, key), delimiter)
    elif isinstance(value, list):
        for index, its in enumerate(value):
            yield from _axes(its, (*path, index), delimiter)
    elif _is_several(value, delimiter):
        yield [{path: word} for word in _words(value, str(path[-1]), delimiter)]


def _sizes(group: Table, path: Path, delimiter: str) -> list[Choice]:
    """Return numbers of processes, each with its factor."""
    sizes = _words(group["Procs"], "Procs", delimiter)
    factors = _words(str(group.get("FactorS", "1")), "FactorS", delimiter)
    if len(factors) == 1:
        factors *= len(sizes)
    if len(factors) != len(sizes):
        raise wrong("FactorS", group["FactorS"], f"one value, or one for each of {sizes}")
    pairs = zip(sizes, factors, strict=True)
    return [{(*path, "Procs"): size, (*path, "FactorS"): factor} for size, factor in pairs]


def _is_several(value: Any, delimiter: str) -> bool:
    return isinstance(value, str) and delimiter in value


def _words(value: str, key: str, delimiter: str) -> list[str]:
    words = [word.strip() for word in value.split(delimiter)]
    if not all(words):
        raise wrong(key, value, f"values with {delimiter!r} between them, none of them empty")
    return words


def _at(table: Any, path: Path) -> Any:
    for key in path:
        table = table[key]
    return table


def _take_percentage(general: Table) -> None:
    total, percent = float(general.get("SDR", 0)), float(general.get("ADR", 0))
    if not 0 <= percent <= 100:
        must = "a percentage of SDR, from 0 to 100, in a file with ':' between values"
        raise wrong("ADR", general["ADR"], must)
    general["ADR"] = total * percent / 100
    general["SDR"] = total - general["ADR"]
