"""A joining rank on its way: it runs the program up to the loop that the others are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freestone.errors import JoiningError, RegistrationError
from freestone.malleable import spawning, together
from freestone.malleable.arrays import Array, Kind
from freestone.malleable.joining_rank import JoiningRank
from freestone.malleable.path import Path, label_of
from freestone.malleable.planning import Blueprint
from freestone.malleable.registering import again
from freestone.malleable.transfer import Transfer, make_arrays

__all__ = ["Joining"]


class Joining:
    """What a program gets in a process that has not joined yet.

    Parameters
    ----------
    joining rank : Joining rank
        The process.
    timeout_s : float
        How long a wait may take for what others do at once.

    Attributes
    ----------
    arrays : dict of str to Array
        All that there are; without rows as yet.
    bridge : mpi4py communicator
        Sources and joining ranks, once they are connected.
    blueprint, groups
        The plan, and the groups of the sources, from then on.
    """

    blueprint: Blueprint
    groups: list[int]

    def __init__(self, joining_rank: JoiningRank, timeout_s: float) -> None:
        self._joining_rank, self._timeout_s = joining_rank, timeout_s
        self.arrays, self._path = joining_rank.prepare()
        self._registered: set[str] = set()
        self._calls = 0
        self.bridge: Any = None

    def once(self, function: Callable[[], Any], loop: int) -> Any:
        """Return what the others got from a call before a loop."""
        call, self._calls = self._calls, self._calls + 1
        return self._path.result(call, loop, label_of(function))

    def register(self, name: str, kind: Kind, rows: int | None) -> Array:
        """Return the array of a name, as the others have registered it."""
        if name not in self.arrays:
            self._require(name)
        self._registered.add(name)
        return again(self.arrays[name], kind, rows)

    def replicate(self, name: str) -> None:
        """See that the others have registered a value of a name."""
        if name not in self._path.names:
            self._require(name)
        self._registered.add(name)

    def _require(self, name: str) -> None:
        problem = (
            f"a joining rank registers {name!r}, which the others have not registered when they "
            "came here; register the same on all ranks, in the same order"
        )
        raise RegistrationError(problem, name=name)

    def is_due_at(self, loop: int) -> bool:
        """Wait at the head of a loop; tell whether this process joins here, or goes on.

        Raises
        ------
        RegistrationError
            If the program has not registered what the others have.
        """
        if loop < self._path.loop:
            return False
        for name in self._path.names:
            if name not in self._registered:
                raise RegistrationError(
                    f"a joining rank came to loop {loop} without registering {name!r}, as the "
                    "others did; register the same on all ranks, before the loop",
                    name=name,
                )
        self._joining_rank.arrive()
        while True:
            word = self._joining_rank.listen()
            if word == spawning.CANCEL:
                self._joining_rank.end_cancelled()
            if word == spawning.SWITCH:
                return True
            if isinstance(word, Path):
                self._path = word
                self._joining_rank.follow()
                return False
            self._connect()

    def _connect(self) -> None:
        joining_rank, timeout_s = self._joining_rank, self._timeout_s
        self.bridge = spawning.bridge_joining_ranks(joining_rank.group, joining_rank.peer)
        plan = together.tell(self.bridge, None, timeout_s, "the plan")
        self.blueprint, described, self.groups = plan
        own = {name: array for name, array in self.arrays.items() if array.storages}
        made = make_arrays(self.bridge, described, own, timeout_s)
        for name, array in made.items():
            # The program has this one by now.
            self.arrays[name].storages = array.storages
        self.arrays = {name: self.arrays[name] for name in made}
        joining_rank.transfer = Transfer(self.bridge, self.arrays, self.blueprint, timeout_s)
        joining_rank.transfer.start()

    def join(self) -> Transfer:
        """Take the rows of this process, together with all others."""
        transfer = self._joining_rank.transfer
        if transfer is None:
            raise JoiningError("told to switch before it was connected (a bug; please report it)")
        self._joining_rank.join()
        transfer.finish_constants()
        transfer.move_variables()
        return transfer

    def end_of_program(self) -> JoiningError:
        """Return the error for a program that does not come to the loop of the others."""
        return JoiningError(
            f"a joining rank came to the end of its World and not to loop {self._path.loop}, which "
            "the others are in; let every rank take the same way through the program"
        )
