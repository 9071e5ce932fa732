"""A rank on its way: it runs the program up to the loop in which it is to go on.

See docs/decisions/086-a-restarted-job-comes-to-its-loop-as-joining-ranks-do.md
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, ClassVar

from freestone.errors import JoiningError, RegistrationError
from freestone.malleable.arrays import Array, Kind
from freestone.malleable.path import Path, label_of
from freestone.malleable.registering import Load, expected, twice

__all__ = ["Entering"]


class Entering:
    """What a program gets in a process that has not come to its loop yet.

    Parameters
    ----------
    arrays : dict of str to Array
        All that there are; without rows as yet.
    path : Path
        Where to go.

    Attributes
    ----------
    who : str
        What such a process is, for errors.
    others : str
        Who has come there before.
    """

    who: ClassVar[str]
    others: ClassVar[str]

    def __init__(self, arrays: dict[str, Array], path: Path) -> None:
        self.arrays, self._path = arrays, path
        self._registered: set[str] = set()
        self._calls = 0

    def once(self, function: Callable[[], Any], loop: int) -> Any:
        """Return what the others got from a call before a loop."""
        call, self._calls = self._calls, self._calls + 1
        return self._path.result(call, loop, label_of(function), self.who, self.others)

    def register(self, name: str, kind: Kind, rows: int | None, load: Load) -> Array:
        """Return the array of a name, as the others have registered it; nothing is loaded."""
        self._note(name, self.arrays)
        return expected(self.arrays[name], kind, rows)

    def replicate(self, name: str, value: Any) -> None:
        """See that the others have registered a value of a name."""
        self._note(name, self._path.names)

    def _note(self, name: str, known: Container[str]) -> None:
        problem = ""
        if name not in known:
            problem = (
                f"{self.who} registers {name!r}, which {self.others} had not registered when they "
                "came here; register the same on all ranks, in the same order"
            )
        elif name in self._registered:
            problem = twice(name, self.arrays.get(name, name))
        if problem:
            raise RegistrationError(problem, name=name)
        self._registered.add(name)

    def _is_at(self, loop: int) -> bool:
        """Tell whether a loop is the one that is looked for, or a later one."""
        if loop < self._path.loop:
            return False
        for name in self._path.names:
            if name not in self._registered:
                raise RegistrationError(
                    f"{self.who} came to loop {loop} without registering {name!r}, as "
                    f"{self.others} did; register the same on all ranks, before the loop",
                    name=name,
                )
        return True

    def end_of_program(self) -> JoiningError:
        """Return the error for a program that does not come to the loop of the others."""
        return JoiningError(
            f"{self.who} came to the end of its World and not to loop {self._path.loop}, which "
            f"{self.others} were in; let every rank take the same way through the program"
        )
