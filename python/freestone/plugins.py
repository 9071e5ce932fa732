"""What other packages add by entry points: looked for when it is asked for, never at start-up."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, TypeVar

from freestone.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["load", "names", "wrong"]

T = TypeVar("T")


def names(group: str) -> list[str]:
    """Return the names that other packages offer in a group, such as ``freestone.formats``."""
    return sorted(_offered(group))


def load(group: str, name: str, kind: type[T]) -> T | None:
    """Import what another package offers under a name; None if no package does.

    Parameters
    ----------
    group
        The group of entry points, such as ``freestone.formats``.
    name
        The name of the entry point.
    kind
        What it has to be: a class, of which it is an instance, or a protocol that can be checked.

    Raises
    ------
    PluginError
        When it can't be imported, is something else, or several packages offer the name.
    """
    found = _offered(group).get(name)
    if found is None:
        return None
    entry = found[0]
    if len(found) > 1:
        others = " and ".join(sorted(map(_distribution, found)))
        raise _wrong(entry, f"is offered by {others}; uninstall one")
    try:
        value = entry.load()
    except Exception as error:
        reason = f"can't be imported: {error} ({type(error).__name__}); mend or uninstall it"
        raise _wrong(entry, reason) from error
    if not isinstance(value, kind):
        raise _wrong(entry, f"is of type {type(value).__name__}; it has to be a {kind.__name__}")
    return value


def wrong(group: str, name: str, reason: str) -> PluginError:
    """Return the error of an entry point that is loaded, and has something wrong with it."""
    return _wrong(_offered(group)[name][0], reason)


def _offered(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    # Packages that are installed while a program runs change no path, and are found by the next.
    return _offered_along(group, tuple(sys.path))


@functools.lru_cache(maxsize=16)
def _offered_along(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def _distribution(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _wrong(entry: EntryPoint, reason: str) -> PluginError:
    return PluginError(
        group=entry.group,
        entry_point=entry.name,
        value=entry.value,
        distribution=_distribution(entry),
        reason=reason,
    )
