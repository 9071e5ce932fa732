"""What all collections share: an ordered sequence of blocks and where each begins."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from freestone.client import Client, gather
from freestone.client.finished import FinishedFuture
from freestone.client.future import Future
from freestone.client.reduction import reduce
from freestone.collections.blocking import Offsets, cuts_of, offsets_of
from freestone.collections.collecting import collect, disperse, naming_lost_blocks
from freestone.collections.keeping import frozen
from freestone.collections.making import Meta, Spec, check_blocks, describe, map_block
from freestone.collections.pieces import cut, future_of, own_value_of
from freestone.collections.protocols import ArrayMethods
from freestone.collections.rows import concatenate, items_of
from freestone.collections.sources import Sources, name_of
from freestone.errors import BlockingError, DroppedError, EmptyCollectionError

if TYPE_CHECKING:
    from freestone.collections.rechunking import RechunkCost

__all__ = ["Collection", "require_same_blocking", "with_blocks"]


class Collection(Sources):
    """An ordered sequence of blocks. Use `Array`, `Frame` or `Bag`."""

    grid: tuple[Offsets, ...] = ()
    """Where blocks begin and end along each axis, if they are cut along several."""
    _comparing = "x.compute() is all of it, here"
    """What messages say of comparisons with values."""

    def __init__(
        self,
        pieces: Sequence[Any],
        offsets: Offsets | None,
        *,
        name: str,
        metas: Sequence[Meta] | None = None,
    ) -> None:
        self._pieces: list[Any] | None = [frozen(piece) for piece in pieces]
        self._offsets = offsets
        self._metas = None if metas is None else list(metas)
        self.name = name
        self.found: dict[str, Any] = {}
        """What `freestone.read` found out of text, and nobody said: separator and header of CSV."""
        # What shows how far the blocks are while the program waits for them.
        self._waiting: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._collected = collect(self, self._pieces)

    # -- what it knows ------------------------------------------------------------------------

    @property
    def blocks(self) -> list[Any]:
        """The blocks, in order: futures, or pieces of them; values without a cluster."""
        return list(self._live("use its blocks"))

    @property
    def offsets(self) -> Offsets:
        """Where each block begins, and where the last one ends: shape (blocks + 1,)."""
        if self._offsets is None:
            self._offsets = offsets_of([meta.rows for meta in self._described()])
        return self._offsets

    @property
    def block_rows(self) -> int:
        """Rows of the largest block."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks; waits until they are made."""
        return int(self._block_nbytes().sum())

    @property
    def client(self) -> Client | None:
        """The cluster that holds the blocks; None when they are values here."""
        for piece in self._live("use it"):
            future = future_of(piece)
            if isinstance(future, Future):
                return future.client
        return None

    def where(self) -> list[list[str]]:
        """Return for each block the workers that hold it, in one message.

        A block that is not made yet, or that the program holds, stands with none.
        """
        client = self.client
        pieces = self._live("say where it is")
        if client is None:
            return [[] for _ in pieces]
        client.require_open(f"say where {self.name!r} is")
        return list(client.who_has([future_of(piece) for piece in pieces]))

    def __len__(self) -> int:
        """How many rows, or items, there are."""
        return int(self.offsets[-1])

    def __eq__(self, other: object) -> Any:
        """Tell whether it is the same object; raise `TypeError` for what may be its values."""
        if other is None or isinstance(other, Collection):
            return self is other
        raise TypeError(
            f"a {type(self).__name__} is not compared with what is of type "
            f"{type(other).__name__}: {self._comparing}"
        )

    __hash__ = object.__hash__

    def __copy__(self) -> Self:
        """Return itself: nobody writes into its blocks."""
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself, as libraries want that copy the objects which hold it."""
        return self

    def iter_blocks(self) -> Iterator[Any]:
        """Yield the blocks' values, in order."""
        for piece in self._live("iterate over it"):
            yield own_value_of(piece)

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows, or items, in order.

        Notes
        -----
        Blocks are fetched one after the other, each once. `iter_blocks` yields them as they are.
        """
        for block in self.iter_blocks():
            yield from items_of(block)

    def __reversed__(self) -> Iterator[Any]:
        """Yield the rows, or items, from the last to the first."""
        for piece in reversed(self._live("iterate over it")):
            block = own_value_of(piece)
            is_sequence = isinstance(block, np.ndarray | list)
            yield from reversed(block if is_sequence else [*items_of(block)])

    def _live(self, action: str) -> list[Any]:
        if self._pieces is None:
            raise DroppedError(self.name, action)
        return self._pieces

    def _described(self) -> list[Meta]:
        """Return what is known of each block; asked on the workers, once."""
        if self._metas is None:
            pieces = self._live("ask for its sizes")
            client = self.client
            if client is None:
                metas = [describe(piece) for piece in pieces]
            else:
                with naming_lost_blocks():
                    metas = gather(client.map(describe, zip(pieces)))
            check_blocks(Spec(collection=self.name, kind=self.kind), metas)
            self._metas = metas
        return self._metas

    def _block_nbytes(self) -> NDArray[np.int64]:
        pieces = self._live("ask for its bytes")
        if all(type(piece) is Future for piece in pieces):
            self.persist()
            return np.array([piece.nbytes for piece in pieces], np.int64)
        return np.array([meta.nbytes for meta in self._described()], np.int64)

    # -- what can be done with it -------------------------------------------------------------

    def map_blocks(
        self, function: Callable[..., Any], *more: Any, name: str | None = None, **options: Any
    ) -> Self:
        """Call a function with each block; what it returns are the blocks of the result.

        Parameters
        ----------
        function
            Called as ``function(block, *more)``, where the block is.
        *more
            Collections of the same blocking, of which it gets the block that goes with it; or
            values, which it gets as they are.
        name
            What the result is called; the function's name by default.
        **options
            Those of `Cluster.submit`.

        Raises
        ------
        BlockingError
            When a collection among `more` is cut into blocks differently.

        Notes
        -----
        One call per block, each where its block is, so that nothing moves unless a partner in
        `more` is elsewhere; what they return lies beside the blocks they come from. To be
        independent of how many blocks there are, call the function with the partitions of
        `freestone.split`.
        """
        spec = Spec(collection=name or name_of(function), kind=self.kind)
        pieces = self._map(spec, function, more, [None] * len(self._live("map it")), options)
        return type(self)(pieces, None, name=spec.collection)

    def _map(
        self,
        spec: Spec,
        function: Callable[..., Any],
        more: Sequence[Any],
        rows: Sequence[int | None],
        options: dict[str, Any],
    ) -> list[Any]:
        pieces = self._live("map it")
        columns: list[Any] = [range(len(pieces)), rows, pieces]
        for other in map(with_blocks, more):
            if isinstance(other, Collection):
                require_same_blocking(self, other)
                columns.append(other._live("map it"))
            else:
                columns.append([other] * len(pieces))
        call = functools.partial(map_block, spec, function)
        near = {} if "worker" in options else {"near": "input"}
        options = {"name": spec.collection, **near, **options}
        client = self.client
        if client is None:
            calls = zip(*columns, strict=True)
            return [call(*map(own_value_of, values)).value for values in calls]
        return client.map(call, zip(*columns, strict=True), options)

    def reduce(
        self,
        op: Callable[[Any, Any], Any],
        function: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Any:
        """Combine the blocks, or what a function makes of each, into one value.

        Parameters
        ----------
        op
            Combines two values; must be associative.
        function
            Called with each block first.
        **options
            Those of `freestone.reduce`, such as `arity` and `commutes`.

        Returns
        -------
        Future
            That of the result; without a cluster it is finished, and the result is here.
        """
        return self._reducing(op, function, options)[-1]

    def _reducing(
        self,
        op: Callable[[Any, Any], Any],
        function: Callable[[Any], Any] | None,
        options: dict[str, Any],
    ) -> list[Any]:
        """Return the futures of what is submitted for a reduction, of which the last is its own."""
        pieces = self._live("reduce it")
        if not pieces:
            raise EmptyCollectionError(self.name, "reduce")
        client = self.client
        if client is None:
            values = map(own_value_of, pieces)
            if function is not None:
                values = map(function, values)
            return [FinishedFuture(functools.reduce(op, values))]
        made: list[Any] = []
        if function is not None:
            made = client.map(function, zip(pieces))
        elif not all(type(piece) is Future for piece in pieces):
            made = client.map(_same, zip(pieces))
        return [*made, reduce(op, made or pieces, **options)]

    def rechunk(self, block_rows: int | Sequence[int] | NDArray[Any]) -> Self:
        """Cut the same rows into other blocks.

        Parameters
        ----------
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to n.

        Notes
        -----
        Moves and copies data, between workers and not through this program; `freestone.split` does
        not, and is as independent of the size of blocks. Each new block is made where most of its
        rows are, from the rows that it needs. `rechunk_cost` says before what it takes.
        """
        from freestone.collections.rechunking import rechunked

        pieces, offsets = self._live("rechunk it"), cuts_of(len(self), block_rows)
        if not pieces:
            return self
        new = np.unique(offsets)
        made = iter(rechunked(pieces, self.offsets, new, self.client) if len(self) else ())
        # Blocks of no rows are there, too: others are cut like this one, and go with it in pairs.
        blocks = [next(made) if rows else cut(pieces[0], 0, 0) for rows in np.diff(offsets)]
        return self._alike(blocks, offsets)

    def rechunk_cost(self, block_rows: int | Sequence[int] | NDArray[Any]) -> RechunkCost:
        """Say what `rechunk` would take, and do nothing.

        Parameters
        ----------
        block_rows
            As for `rechunk`.

        Returns
        -------
        RechunkCost
            Bytes to move between workers, bytes to copy, and what the fullest worker would hold.

        Notes
        -----
        Waits until the blocks are made. Where they are is asked in one message; rows of a block
        are taken for equally large.
        """
        from freestone.collections.rechunking import rechunk_cost

        pieces, nbytes = self._live("say what a rechunk costs"), self._block_nbytes()
        new = np.unique(cuts_of(len(self), block_rows))
        return rechunk_cost(pieces, self.offsets, new, nbytes, self.client)

    def _alike(self, pieces: Sequence[Any], offsets: Offsets) -> Self:
        """Return a collection of the same kind of rows."""
        return type(self)(pieces, offsets, name=self.name)

    def persist(self) -> Self:
        """Wait until every block is made, and raise the error of the first that can't be."""
        pieces = self._live("persist it")
        with self._waiting(), naming_lost_blocks():
            for piece in pieces:
                future = future_of(piece)
                if isinstance(future, Future):
                    error = future.exception()
                    if error is not None:
                        raise error
        return self

    def compute(self) -> Any:
        """Return all rows as one value, here."""
        pieces = self._live("compute it")
        if not pieces:
            raise EmptyCollectionError(self.name, "compute")
        with self._waiting(), naming_lost_blocks():
            blocks = [own_value_of(piece) for piece in pieces]
        return self._joined(blocks)

    def _joined(self, blocks: Sequence[Any]) -> Any:
        return concatenate(blocks, self.name)

    def drop(self) -> None:
        """Let the blocks go; partitions of it can't be used any more either."""
        disperse(self._pieces or (), self._collected)
        self._pieces = None
        self._waiting = nullcontext
        self._metas = None

    def _slice(self, rows: slice) -> Self:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise IndexError(f"rows can be taken in order only, not with step {step}")
        stop = max(start, stop)
        offsets = self.offsets
        # An empty slice keeps a block, which says what kind of rows there are none of.
        first = int(np.searchsorted(offsets, start, "right")) - 1
        first = max(min(first, len(offsets) - 2), 0)
        last = max(int(np.searchsorted(offsets, stop, "left")), first + 1)
        if (start, stop) == (0, len(self)):
            # All rows are cut as they were, with the empty blocks at both ends.
            first, last = 0, len(offsets) - 1
        pieces = self._live("slice it")[first:last]
        starts = np.clip(offsets[first:last], start, stop)
        stops = np.clip(offsets[first + 1 : last + 1], start, stop)
        parts = [
            piece if (a, b) == (begin, end) else cut(piece, a - begin, b - begin)
            for piece, a, b, begin, end in zip(
                pieces,
                starts.tolist(),
                stops.tolist(),
                offsets[first:last].tolist(),
                offsets[first + 1 : last + 1].tolist(),
                strict=True,
            )
        ]
        name = f"{self.name}[{start}:{stop}]"
        return type(self)(parts, offsets_of(stops - starts), name=name)

    def __repr__(self) -> str:
        from freestone.collections.reprs import collection_text

        return collection_text(self)

    def _repr_html_(self) -> str:
        from freestone.collections.reprs import collection_html

        return collection_html(self)


def with_blocks(other: Any, *, must_have: bool = False) -> Any:
    """Return an expression of arrays with its blocks; anything else as it is.

    So is one that has none, such as a sum of all rows or a transpose, unless it must have some.
    """
    if not isinstance(other, ArrayMethods) or isinstance(other, Collection):
        return other
    expression: Any = other
    try:
        return expression.to_array()
    except TypeError:
        if must_have:
            raise
        return other


def require_same_blocking(ours: Collection, theirs: Collection) -> None:
    """Raise `BlockingError` unless two collections are cut at the same rows."""
    same_grid = len(ours.grid) == len(theirs.grid) and all(
        map(np.array_equal, ours.grid, theirs.grid)
    )
    if same_grid and np.array_equal(ours.offsets, theirs.offsets):
        return
    like = "chunks" if ours.grid and theirs.grid else "offsets"
    shown = _blocks_of(ours), _blocks_of(theirs)
    raise BlockingError(ours.name, theirs.name, ours=shown[0], theirs=shown[1], like=like)


def _blocks_of(collection: Collection) -> str:
    """Say how a collection is cut."""
    if collection.grid:
        counts = " x ".join(f"{len(axis) - 1:,}" for axis in collection.grid)
        sides = tuple(int(np.diff(axis).max(initial=0)) for axis in collection.grid)
        return f"{counts} blocks of at most {sides}"
    count = len(collection.offsets) - 1
    rows = f"{len(collection):,} rows in all, at most {collection.block_rows:,} each"
    return f"{count:,} blocks of {rows}"


def _same(block: Any) -> Any:
    return block
