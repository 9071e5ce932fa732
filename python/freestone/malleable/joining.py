"""A joining rank on its way: it runs the program up to the loop that the others are in."""

from __future__ import annotations

from typing import Any

from freestone.errors import JoiningError
from freestone.malleable import spawning, together
from freestone.malleable.config import Config
from freestone.malleable.entering import Entering
from freestone.malleable.joining_rank import JoiningRank
from freestone.malleable.path import Path
from freestone.malleable.planning import Blueprint
from freestone.malleable.transfer import Transfer, make_arrays

__all__ = ["Joining"]


class Joining(Entering):
    """What a program gets in a process that has not joined yet.

    Parameters
    ----------
    joining_rank : JoiningRank
        The process.
    config : Config
        The settings, which have to be those of the others.

    Attributes
    ----------
    arrays : dict of str to Array
        All that there are; without rows as yet.
    host : str
        Where a scheduler has granted this process a place, empty if none has.
    bridge : mpi4py communicator
        Sources and joining ranks, once they are connected.
    blueprint, groups
        The plan, and the groups of the sources, from then on.
    """

    who = "a joining rank"
    others = "the others"
    blueprint: Blueprint
    groups: list[int]

    def __init__(self, joining_rank: JoiningRank, config: Config) -> None:
        super().__init__(*joining_rank.prepare(config.agreed()))
        self.host = joining_rank.host
        self._joining_rank, self._timeout_s = joining_rank, config.timeout_s
        self.bridge: Any = None

    def is_due_at(self, loop: int) -> bool:
        """Wait at the head of a loop; tell whether this process joins here, or goes on.

        Raises
        ------
        RegistrationError
            If the program has not registered what the others have.
        """
        if not self._is_at(loop):
            return False
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
        self.bridge = joining_rank.bridge
        if self.bridge is None:
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
