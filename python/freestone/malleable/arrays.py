"""Data that is dealt to the ranks by rows."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from freestone.errors import RegistrationError
from freestone.malleable.parts import Form, assemble, pieces, problem_of
from freestone.malleable.path import not_joined
from freestone.malleable.plans import Layout, Move, Plan
from freestone.malleable.storage import Handle, Storage

__all__ = ["Array", "Deal", "Description", "Kind", "Run"]

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


class Run(tuple[int, int, Any]):
    """Rows of this rank that lie behind one another: start, stop and local, also by these names.

    Attributes
    ----------
    start, stop : int
        Which rows of all.
    local : array of shape (stop - start, ...) or CSR matrix
        Those rows, in place.
    """

    __slots__ = ()

    def __new__(cls, start: int, stop: int, local: Any) -> Run:
        """Return a run."""
        return super().__new__(cls, (start, stop, local))

    def __getnewargs__(self) -> tuple[int, int, Any]:
        # Of a copy, or one that is sent to another rank.
        return self[0], self[1], self[2]

    @property
    def start(self) -> int:
        """The first row."""
        return self[0]

    @property
    def stop(self) -> int:
        """The row behind the last."""
        return self[1]

    @property
    def local(self) -> Any:
        """The rows, in place."""
        return self[2]

    @local.setter
    def local(self, value: Any) -> None:
        """Write all of them, as ``run.local += 1`` does at last."""
        _write(self[2], value)


class Array:
    """Rows of a dense array or of a CSR matrix, of which this rank has one block, or several runs.

    Attributes
    ----------
    name : str
        What it is registered as.
    kind : {"constant", "variable"}
        Whether it moves during steps, or at the switch.
    is_shared : bool
        Whether the processes of a host have it in the same memory.
    start, stop : int
        The rows that this rank has, if they are one block.
    local : array of shape (stop - start, ...) or CSR matrix
        Those rows, in place. A resize replaces it: read it again in each step.
    runs : list of Run
        The rows that this rank has: one run, or several by ``minimal`` or a ``balance`` function.
    """

    def __init__(self, description: Description, storages: list[Storage]) -> None:
        self.name, self.kind, self.form, self.is_shared, self.replaced = description
        self.storages = storages
        self.layout: Layout | None = None
        # The rows of this rank, and the elements of a matrix before each run and behind it.
        self._bounds: list[tuple[int, int]] = [(0, 0)]
        self._elements: list[tuple[int, int]] = [(0, 0)]
        # Where runs of all ranks begin, and whose they are, once the program has asked for that.
        self._owners: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        # By run, once the program has asked for its rows.
        self._runs: list[Run] = []
        self._views: list[list[Any]] = []
        # Of what the program was given since the last resize, and before it.
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
        return self._block()[0]

    @property
    def stop(self) -> int:
        """The row behind its last."""
        return self._block()[1]

    @property
    def runs(self) -> list[Run]:
        """All runs of rows of this rank, in their order; one that is empty, if it has no rows."""
        self._require_rows()
        if not self._runs:
            self._assemble()
        return self._runs

    @property
    def local(self) -> Any:
        """The rows of this rank."""
        self._block()
        return self.runs[0].local

    @local.setter
    def local(self, value: Any) -> None:
        """Write all rows of this rank, as ``x.local += 1`` does at last."""
        _write(self.local, value, self.name)

    def problem(self) -> str:
        """Return why what the program has made of `local` can't be kept, if it can't."""
        if self.kind == "constant" or not self.form.is_ragged:
            return ""
        pairs = zip(self._runs, self._views, strict=True)
        problem = next(filter(None, (problem_of(run.local, views) for run, views in pairs)), "")
        return f"{self.name!r} has {problem}" if problem else ""

    def is_held_from_before(self) -> bool:
        """Tell whether the program still has a view of the rows of before a resize."""
        return any(root() is not None for root in self._given_before)

    def rank_of(self, rows: Any) -> Any:
        """Return the rank that has a row, or those that have some.

        Parameters
        ----------
        rows : int or array of int
            Which of all.

        Raises
        ------
        IndexError
            If there is no such row, or `rows` are no whole numbers.
        """
        if self.layout is None:
            raise not_joined(f"{self.name!r}")
        asked = np.asarray(rows)
        if asked.size and asked.dtype.kind not in "iu":
            problem = f"{self.name!r} has no row {rows!r}; give a whole number, or an array of such"
            raise IndexError(problem)
        wrong = asked[(asked < 0) | (asked >= self.rows)]
        if wrong.size:
            raise IndexError(f"{self.name!r} has no row {wrong.flat[0]}: it has {self.rows}")
        starts, ranks = self._owners = self._owners or _owners(self.layout)
        found = ranks[np.searchsorted(starts, asked, "right") - 1]
        return int(found) if asked.ndim == 0 else found

    def take_layout(
        self,
        layout: Layout,
        place: int,
        ragged: Mapping[int, int],
        *,
        by_program: bool = False,
    ) -> None:
        """Have the rows of a place, whose bytes are in the storages already.

        Parameters
        ----------
        layout : Layout
            How the rows of all ranks lie.
        place : int
            Which of the ranks this is.
        ragged : mapping of int to int
            The elements before the first row of each run, and behind its last, of a matrix.
        by_program : bool
            The program has replaced the rows itself, and knows it: no resize has.
        """
        self.layout, self._owners = layout, None
        self._bounds = layout.runs(place) or [(0, 0)]
        self._elements = (
            [(ragged[start], ragged[stop]) for start, stop in self._bounds]
            if self.form.is_ragged
            else [(0, 0)] * len(self._bounds)
        )
        # What a program still holds of the rows of before is no longer written by mistake.
        _freeze(run.local for run in self._runs if isinstance(run.local, np.ndarray))
        _freeze(itertools.chain(*self._views))
        self._runs, self._views = [], []
        if not by_program:
            self._given_before += self._given
            self._given = []
        self._given_before = [root for root in self._given_before if root() is not None]
        self._given = [root for root in self._given if root() is not None]

    def take_place(self, description: Description, storages: list[Storage]) -> None:
        """Have room for other rows, which `take_layout` and `fill` then give it."""
        self.form, self.replaced = description.form, description.replaced
        self.storages = storages

    def pieces(self, index: int) -> list[tuple[int, Any]]:
        """Return a part's bytes that this rank has, of dtype uint8, in place, and where they are.

        By run, with the place of the first one in all.
        """
        return [(span[0], self.storages[index].view(*span)) for span in self.held(index)]

    def edges(self) -> dict[int, int]:
        """Return the elements of a matrix before the first row of each run, and behind its last."""
        pairs = zip(self._bounds, self._elements, strict=True)
        return {row: count for run in pairs for row, count in zip(*run, strict=True)}

    def fill(self, *local: Any) -> None:
        """Put this rank's rows into the storages, those of each run."""
        for run, rows in enumerate(local):
            for index, values in enumerate(pieces(rows)):
                self._view(index, run)[...] = values

    def held(self, index: int) -> list[tuple[int, int]]:
        """Return where a part's bytes begin and end that this rank has, by run."""
        return self.form.parts[index].spans(self._bounds, self.edges())

    def span(self, index: int) -> tuple[int, int]:
        """Return where a part's bytes begin and end that this rank has, with gaps in between."""
        spans = self.held(index)
        return spans[0][0], spans[-1][1]

    def sums(self, run: int = 0) -> npt.NDArray[np.int64]:
        """Return the elements before each row of a run, and behind the last, of all."""
        return np.concatenate([[0], np.cumsum(self._view(0, run))]) + self._elements[run][0]

    def counts_before(self, rows: list[int]) -> dict[int, int]:
        """Return the elements before each of `rows` that this rank knows: those of its runs."""
        found: dict[int, int] = {}
        for run, (start, stop) in enumerate(self._bounds):
            sums = self.sums(run)
            found |= {row: int(sums[row - start]) for row in rows if start <= row <= stop}
        return found

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

    def _block(self) -> tuple[int, int]:
        """Return the only run of rows of this rank.

        Raises
        ------
        RegistrationError
            If there are several.
        """
        self._require_rows()
        if len(self._bounds) == 1:
            return self._bounds[0]
        problem = (
            f"{self.name!r} has {len(self._bounds)} runs of rows on this rank; loop over them: "
            "for start, stop, rows in its .runs"
        )
        raise RegistrationError(problem, name=self.name)

    def _view(self, index: int, run: int = 0) -> Any:
        return self.pieces(index)[run][1].view(self.form.parts[index].dtype)

    def _assemble(self) -> None:
        """Make what the program sees of the rows."""
        for run, (start, stop) in enumerate(self._bounds):
            parts = enumerate(self.storages)
            roots = [storage.apart(*self.held(index)[run]) for index, storage in parts]
            pairs = zip(roots, self.form.parts, strict=True)
            views = [root.view(part.dtype) for root, part in pairs]
            if self.kind == "constant":
                _freeze(views)
            self._given += map(weakref.ref, roots)
            self._views.append(views)
            self._runs.append(Run(start, stop, assemble(self.form, stop - start, views)))

    def __repr__(self) -> str:
        runs = ", ".join(f"{start} to {stop}" for start, stop in self._bounds)
        return f"<{self.kind} {self.name!r}: rows {runs} of {self.rows}>"


def _owners(layout: Layout) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each run of all ranks begins, and whose it is, in the order of the rows."""
    runs = [(*run, rank) for rank in range(layout.places) for run in layout.runs(rank)]
    starts, _, ranks = np.array(sorted(runs), np.int64).reshape(-1, 3).T
    return starts, ranks


def _write(local: Any, value: Any, name: str = "run") -> None:
    """Write all rows, unless they are what is to be written; fractions are not cut off."""
    if value is local:
        return
    if not isinstance(local, np.ndarray):
        problem = f"{name!r} is a CSR matrix: write into its local.data in place"
        raise RegistrationError(problem, name=name)
    np.copyto(local, value, casting="same_kind")


def _freeze(views: Iterable[Any]) -> None:
    for view in views:
        view.flags.writeable = False
