"""A job that goes on from a saved state: its ranks come to their loop as joining ranks do."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from freestone.errors import SavedStateError
from freestone.malleable import together
from freestone.malleable.arrays import Array, Deal
from freestone.malleable.config import Config
from freestone.malleable.dealing import deal
from freestone.malleable.entering import Entering
from freestone.malleable.membership import Membership
from freestone.malleable.plans import Rows
from freestone.malleable.states import Contents, State
from freestone.malleable.transfer import make_arrays

__all__ = ["Restoring", "find"]


class Restoring(Entering):
    """What a program gets that goes on from a file, until it has come to its loop.

    Parameters
    ----------
    path : Path
        The file.
    membership : Membership
        The ranks, as many as there are now.
    """

    who = "a job that goes on from a saved state"
    others = "the ranks that have saved it"

    def __init__(self, path: Path, membership: Membership) -> None:
        self.membership = membership
        self._state = State(path)
        described = self.contents.arrays
        super().__init__({each.name: Array(each, []) for each in described}, self.contents.way)

    @property
    def contents(self) -> Contents:
        """All of the file but the rows."""
        return self._state.contents

    def is_due_at(self, loop: int) -> bool:
        """Tell whether the job goes on in this loop."""
        return self._is_at(loop)

    def read(self, config: Config) -> dict[Deal, Rows]:
        """Read this rank's rows; all ranks call it together.

        Returns
        -------
        dict of int or str to Rows
            How rows are dealt to the ranks, by the deal of arrays.

        Raises
        ------
        SavedStateError
            On all ranks, if what one of them needs is damaged.
        """
        comm, rank = self.membership.data, self.membership.rank
        made = make_arrays(comm, list(self.contents.arrays), {}, config.timeout_s)
        layouts: dict[Deal, Rows] = {}
        problem: SavedStateError | None = None
        for name, array in self.arrays.items():
            array.storages = made[name].storages
            if array.deal not in layouts:
                layouts[array.deal] = deal(comm, [], array.rows, comm.size, config)
            layout = layouts[array.deal]
            try:
                array.take_layout(layout, rank, self._state.elements(array, *layout.of(rank)))
                self._state.fill(array)
            except SavedStateError as error:
                problem = problem or error
        # Rows may lie in memory that all ranks of a host have: none begins before all are there.
        found = together.gather_all(comm, problem, float("inf"), "reading the state")
        first = next(filter(None, found), None)
        if first is not None:
            raise first
        return layouts


def find(
    paths: tuple[Path | None, ...], membership: Membership, timeout_s: float
) -> Restoring | None:
    """Return how a job goes on from the first of some files that is there, if one is.

    Raises
    ------
    SavedStateError
        On all ranks, if that is damaged, or not seen by all of them.
    """
    here = next((path for path in paths if path is not None and path.exists()), None)
    path = together.tell(membership.data, here, timeout_s, "looking for a saved state")
    if path is None:
        return None
    restoring, problem = None, None
    try:
        restoring = Restoring(path, membership)
    except SavedStateError as error:
        problem = error
    found = together.gather_all(membership.data, problem, timeout_s, "reading the state")
    first = next(filter(None, found), None)
    if first is not None:
        raise first
    if membership.rank == 0 and restoring is not None:
        _announce(path, restoring.contents)
    return restoring


def _announce(path: Path, contents: Contents) -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(contents.saved_s))
    ranks = "1 rank" if contents.ranks == 1 else f"{contents.ranks} ranks"
    text = f"goes on from step {contents.progress.done}, which {ranks} saved in {path} on {when}"
    print(f"freestone: the job {text}", file=sys.stderr, flush=True)
