"""A job that goes on from a saved state: its ranks come to their loop as joining ranks do."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from freestone.errors import RegistrationError, SavedStateError
from freestone.malleable import together
from freestone.malleable.arrays import Array, Deal, Kind
from freestone.malleable.config import Config
from freestone.malleable.dealing import deal
from freestone.malleable.entering import Entering
from freestone.malleable.membership import Membership
from freestone.malleable.parts import Form, form_of
from freestone.malleable.plans import Layout
from freestone.malleable.registering import Load
from freestone.malleable.states import Contents, State
from freestone.malleable.transfer import make_arrays
from freestone.malleable.values import value_of

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
        self.state = State(path)
        described = self.contents.arrays
        super().__init__({each.name: Array(each, []) for each in described}, self.contents.way)

    @property
    def contents(self) -> Contents:
        """All of the file but the rows."""
        return self.state.contents

    def register(self, name: str, kind: Kind, rows: int | None, load: Load) -> Array:
        """Return the array of a name; a program in C has saved no more of it than its bytes."""
        array = super().register(name, kind, rows, load)
        if not self.state.is_of_python:
            array.form = _as_loaded(name, array.form, load)
        return array

    def replicate(self, name: str, value: Any) -> None:
        """See that a value was saved; a program in C has saved no more of it than its bytes."""
        super().replicate(name, value)
        if not self.state.is_of_python:
            values = self.contents.values
            values[name] = value_of(name, values[name], value)

    def is_due_at(self, loop: int) -> bool:
        """Tell whether the job goes on in this loop."""
        return self._is_at(loop)

    def read(self, config: Config) -> dict[Deal, Layout]:
        """Read this rank's rows; all ranks call it together.

        Returns
        -------
        dict of int or str to Layout
            How rows are dealt to the ranks, by the deal of arrays.

        Raises
        ------
        SavedStateError
            On all ranks, if what one of them needs is damaged.
        """
        comm, rank = self.membership.data, self.membership.rank
        described = [array.description for array in self.arrays.values()]
        made = make_arrays(comm, described, {}, config.timeout_s)
        layouts: dict[Deal, Layout] = {}
        problem: SavedStateError | None = None
        for name, array in self.arrays.items():
            array.storages = made[name].storages
            if array.deal not in layouts:
                layouts[array.deal] = deal(comm, [], array.rows, comm.size, config)
            layout = layouts[array.deal]
            try:
                array.take_layout(layout, rank, self.state.elements(array, layout.runs(rank)))
                self.state.fill(array)
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
        _announce(path, restoring.state)
    return restoring


def _as_loaded(name: str, form: Form, load: Load) -> Form:
    """Return the form that rows of bytes have, if they are such as the program loads."""
    none = load(0, 0)
    row = np.asarray(none).shape[1:] if isinstance(none, np.ndarray) else None
    found = form if row is None else form_of(none, form.rows, 0)
    if row is None or found.nbytes != form.nbytes:
        (part,) = form.parts
        problem = (
            f"{name!r} has rows of {part.per_row} bytes in the file, and load(0, 0) returns "
            f"{none!r}; return an array without rows, whose rows would have as many"
        )
        raise RegistrationError(problem, name=name)
    return found


def _announce(path: Path, state: State) -> None:
    index = state.index
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(index.saved_s))
    ranks = "1 rank" if index.ranks == 1 else f"{index.ranks} ranks"
    text = f"goes on from step {index.step}, which {ranks} saved in {path} on {when}"
    print(f"freestone: the job {text}", file=sys.stderr, flush=True)
