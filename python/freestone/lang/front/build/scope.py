"""What names mean, in nested blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freestone.lang.front.graph.graph import Value


@dataclass(eq=False)
class Scope:
    """The variables of a block, and those of the blocks around it."""

    around: Scope | None = None
    variables: dict[str, Value] = field(default_factory=dict)
    read_only: frozenset[str] = frozenset()

    def get(self, name: str) -> Value | None:
        """Return what a variable holds."""
        scope = self._home(name)
        return None if scope is None else scope.variables[name]

    def set(self, name: str, value: Value) -> None:
        """Write to a variable where it lives, or make a new one here."""
        (self._home(name) or self).variables[name] = value

    def locked(self, name: str) -> bool:
        """Tell whether a variable can only be read."""
        scope = self._home(name)
        return scope is not None and name in scope.read_only

    def names(self) -> Iterable[str]:
        """Return the names of all variables that can be seen."""
        inner = list(self.variables)
        return inner if self.around is None else [*inner, *self.around.names()]

    def _home(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and name not in scope.variables:
            scope = scope.around
        return scope
