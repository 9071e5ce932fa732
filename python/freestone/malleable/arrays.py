"""Data that is dealt to the ranks by rows."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from freestone.errors import RegistrationError
from freestone.malleable.parts import Form, assemble, pieces, problem_of
from freestone.malleable.path import not_joined
from freestone.malleable.plans import Move, Plan, Rows
from freestone.malleable.storage import Handle, Storage

__all__ = ["Array", "Deal", "Description", "Kind"]

Kind = Literal["constant", "variable"]
Deal = int | str
"""What rows are dealt by: arrays of one deal lie alike, also after a resize."""


class Description(NamedTuple):
    """What a joining rank has to know of an array."""

    name: str
    kind: Kind
    form: Form
    is_shared: bool
    replaced: str = ""
    """The arrays whose rows were replaced together, if its were."""


class Array:
    """Rows of a dense array or of a CSR matrix, of which this rank has one block.

    Attributes
    ----------
    name : str
        What it is registered as.
    kind : {"constant", "variable"}
        Whether it moves during steps, or at the switch.
    is_shared : bool
        Whether the processes of a host have it in the same memory.
    start, stop : int
        The rows that this rank has.
    local : array of shape (stop - start, ...) or CSR matrix
        Those rows, in place. A resize replaces it: read it again in each step.
    """

    def __init__(self, description: Description, storages: list[Storage]) -> None:
        self.name, self.kind, self.form, self.is_shared, self.replaced = description
        self.storages = storages
        self.layout: Rows | None = None
        self._start = self._stop = 0
        self._elements = (0, 0)
        self._local: Any = None
        self._views: list[Any] = []
        # Of what the program was given on this layout, and on the one before.
        self._given: list[weakref.ref[Any]] = []
        self._given_before: list[weakref.ref[Any]] = []

    @property
    def description(self) -> Description:
        """What joining processes are sent."""
        return Description(self.name, self.kind, self.form, self.is_shared, self.replaced)

    @property
    def rows(self) -> int:
        """Rows on all ranks."""
        return self.form.rows

    @property
    def deal(self) -> Deal:
        """What its rows are dealt by: their number, or the arrays that were replaced with it."""
        return self.replaced or self.form.rows

    @property
    def start(self) -> int:
        """The first row of this rank."""
        self._require_rows()
        return self._start

    @property
    def stop(self) -> int:
        """The row behind its last."""
        self._require_rows()
        return self._stop

    @property
    def local(self) -> Any:
        """The rows of this rank."""
        if self._local is None:
            self._require_rows()
            self._local = self._assemble()
        return self._local

    @local.setter
    def local(self, value: Any) -> None:
        """Write all rows of this rank, as ``x.local += 1`` does at last."""
        if value is self.local:
            return
        if self.form.is_ragged:
            problem = f"{self.name!r} is a CSR matrix: write into its local.data in place"
            raise RegistrationError(problem, name=self.name)
        self.local[...] = value

    def problem(self) -> str:
        """Return why what the program has made of `local` can't be kept, if it can't."""
        if self._local is None or self.kind == "constant" or not self.form.is_ragged:
            return ""
        problem = problem_of(self._local, self._views)
        return f"{self.name!r} has {problem}" if problem else ""

    def is_held_from_before(self) -> bool:
        """Tell whether the program still has a view of the rows of before a resize."""
        return any(root() is not None for root in self._given_before)

    def take_layout(self, layout: Rows, place: int, ragged: Mapping[int, int]) -> None:
        """Have the rows of a place, whose bytes are in the storages already."""
        self.layout = layout
        self._start, self._stop = layout.of(place)
        if self.form.is_ragged:
            self._elements = (ragged[self._start], ragged[self._stop])
        if isinstance(self._local, np.ndarray):
            _freeze([self._local])
        # What a program still holds of the rows of before is no longer written by mistake.
        _freeze(self._views)
        self._local, self._views = None, []
        given = [*self._given_before, *self._given]
        self._given_before = [root for root in given if root() is not None]
        self._given = []

    def take_place(self, description: Description, storages: list[Storage]) -> None:
        """Have room for other rows, which `take_layout` and `fill` then give it."""
        self.form, self.replaced = description.form, description.replaced
        self.storages = storages

    def part(self, index: int) -> Any:
        """Return the bytes of a part that this rank has, of dtype uint8, in place."""
        return self.storages[index].view(*self.held(index))

    def edges(self) -> dict[int, int]:
        """Return the elements before this rank's first row and behind its last, of a matrix."""
        return dict(zip((self._start, self._stop), self._elements, strict=True))

    def fill(self, local: Any) -> None:
        """Put this rank's rows into the storages."""
        for index, values in enumerate(pieces(local)):
            self._view(index)[...] = values

    def held(self, index: int) -> tuple[int, int]:
        """Return where a part's bytes begin and end that this rank has."""
        part = self.form.parts[index]
        if part.per_row is not None:
            return self._start * part.per_row * part.itemsize, (
                self._stop * part.per_row * part.itemsize
            )
        first, last = self._elements
        return first * part.itemsize, last * part.itemsize

    def sums(self) -> npt.NDArray[np.int64]:
        """Return the elements before each of this rank's rows, and behind the last, of all."""
        return np.concatenate([[0], np.cumsum(self._view(0))]) + self._elements[0]

    def counts_before(self, rows: list[int]) -> dict[int, int]:
        """Return the elements before each of `rows` that this rank knows: those of its block."""
        sums = self.sums()
        return {
            row: int(sums[row - self._start]) for row in rows if self._start <= row <= self._stop
        }

    def moves(
        self, plan: Plan, index: int, ragged: Mapping[int, int], is_one: Callable[[int, int], bool]
    ) -> list[Move]:
        """Return what has to move of a part, in bytes of its global order.

        Parameters
        ----------
        plan : Plan
            Of the rows.
        index : int
            Which part.
        ragged : mapping of int to int
            The elements before each row at which a block begins or ends.
        is_one : callable
            Whether two processes have this array in the same memory.
        """
        part = self.form.parts[index]
        found = (
            Move(
                move.source,
                move.target,
                part.position(move.start, ragged),
                part.position(move.stop, ragged),
            )
            for move in plan.moves
            if not is_one(move.source, move.target)
        )
        return [move for move in found if move.start < move.stop]

    def handles(self, host: str) -> list[Handle]:
        """Return by what other processes of this host map the storages."""
        return [storage.handle(host) for storage in self.storages]

    def release(self, keep: list[list[tuple[int, int]]]) -> None:
        """Give back the pages of private storages, but for some spans of each."""
        if self.is_shared:
            return
        for storage, spans in zip(self.storages, keep, strict=True):
            free = 0
            for first, last in sorted(spans):
                storage.release(free, first)
                free = max(free, last)
            storage.release(free, storage.nbytes)

    def _require_rows(self) -> None:
        if self.layout is None:
            raise not_joined(f"{self.name!r}")

    def _view(self, index: int) -> Any:
        return self.part(index).view(self.form.parts[index].dtype)

    def _assemble(self) -> Any:
        roots = [storage.apart(*self.held(index)) for index, storage in enumerate(self.storages)]
        self._given = [weakref.ref(root) for root in roots]
        self._views = [
            root.view(part.dtype) for root, part in zip(roots, self.form.parts, strict=True)
        ]
        if self.kind == "constant":
            _freeze(self._views)
        return assemble(self.form, self._stop - self._start, self._views)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r}: rows {self._start} to {self._stop} of {self.rows}>"


def _freeze(views: Iterable[Any]) -> None:
    for view in views:
        view.flags.writeable = False
