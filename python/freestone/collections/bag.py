"""Bags: any values, in blocks."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from freestone.client.waiting import result_of
from freestone.collections.base import Collection
from freestone.collections.blocking import cuts_of
from freestone.collections.frame import Frame
from freestone.collections.making import Spec
from freestone.collections.pieces import own_value_of
from freestone.collections.rows import items_of
from freestone.collections.sources import name_of, put_all
from freestone.collections.tabling import conformed, schema_of, schema_of_both, table_of
from freestone.errors import EmptyCollectionError
from freestone.errors.habits import OF_BAG, missing_attribute
from freestone.errors.keywords import suggest_keywords

__all__ = ["Bag"]

_MAX_GROUPS = 256
"""A call has at most so many outputs."""


class _Nothing:
    """Stands for no initial value; a class, which is the same in every process."""


@suggest_keywords
class Bag(Collection):
    """Any values that can be pickled, in blocks that are lists of them.

    Made by `from_items`, `from_function` and their like. Blocks may be of different lengths.

    Blocks may also be arrays of awkward's, frames of pandas' or polars', or arrays and datasets of
    xarray's: they stay what they are, their rows are the items, and `compute` puts them below each
    other by the function that their library has for it.
    """

    kind = "bag"

    def map(self, function: Callable[[Any], Any], **options: Any) -> Self:
        """Call a function with each item, where its block is.

        Parameters
        ----------
        function
            Called with an item.
        **options
            Those of `Cluster.submit`, and ``name``.

        Notes
        -----
        One call per block.
        """
        options = {"name": name_of(function)} | options
        return self.map_blocks(functools.partial(_mapped, function), **options)

    def filter(self, function: Callable[[Any], Any], **options: Any) -> Self:
        """Keep the items for which a function returns true; see `map`."""
        options = {"name": name_of(function)} | options
        return self.map_blocks(functools.partial(_filtered, function), **options)

    def fold(
        self,
        function: Callable[[Any, Any], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        *,
        initial: Any = _Nothing,
        commutes: bool = False,
    ) -> Any:
        """Combine all items into one value.

        Parameters
        ----------
        function
            Called as ``function(total, item)``; must be associative if there is no `combine`.
        combine
            Called as ``combine(total, total)`` with what blocks give; must be associative. By
            default `function`.
        initial
            What each block begins with; by default its first item.
        commutes
            Whether the order of blocks does not matter.

        Returns
        -------
        object
            The value, here.

        Raises
        ------
        EmptyCollectionError
            When there is no item, and no `initial`.

        Notes
        -----
        Blocks are folded where they are, and their totals combined in a tree.
        """
        calls = self._reducing(
            functools.partial(_combined, combine or function),
            functools.partial(_folded, function, initial),
            {"commutes": commutes},
        )
        total = result_of(calls)
        if not total:
            raise EmptyCollectionError(
                self.name, "fold", "it has no items; pass initial=, which is the result then"
            )
        return total[0]

    def group_by(self, key: Callable[[Any], Hashable], *, groups: int | None = None) -> Self:
        """Bring items together that have the same key.

        Parameters
        ----------
        key
            Called with an item.
        groups
            How many blocks the result has, 1 to 256; by default as many as this, at most 256.

        Returns
        -------
        Bag
            Of pairs: a key, and the list of its items in their order. Pairs with keys of one hash
            are in one block; within it they are in the order in which keys were first seen.

        Raises
        ------
        TypeError
            For a key that is not a text, bytes, a number, None, or a tuple of them: hashes of
            others, and of NaN, differ from process to process.
        ValueError
            For a number of blocks that is out of range.

        Notes
        -----
        Each block is cut by key where it is; every item travels at most once, from worker to
        worker.
        """
        pieces = self._live("group it")
        count = min(max(1, len(pieces)), _MAX_GROUPS) if groups is None else groups
        if not 1 <= count <= _MAX_GROUPS:
            raise ValueError(f"groups={groups}: a result has 1 to {_MAX_GROUPS} blocks")
        cut = functools.partial(_cut_by_key, key, count)
        client = self.client
        if client is None:
            columns = [_as_tuple(cut(own_value_of(piece))) for piece in pieces]
            made = [_grouped(key, *(column[at] for column in columns)) for at in range(count)]
            return type(self)._from_own(made, name=self.name)
        options = {"name": "group_by", "near": "input"}
        rows = [client.submit(cut, (piece,), {}, options, count) for piece in pieces]
        parts = [*map(_as_tuple, rows)]
        calls = [(key, *(row[at] for row in parts)) for at in range(count)]
        return type(self)(client.map(_grouped, calls, options), None, name=self.name)

    def to_frame(self) -> Frame:
        """Make a frame: each item is a dict of columns, or an item of one column, ``value``.

        Blocks that are frames of polars or pandas are those of the frame.

        The columns are those of all items, in the order of the first that has them; what an item
        lacks is missing. Types are those that Arrow finds; whole and real numbers of a column
        become real.

        Raises
        ------
        TypeError
            When the block is computed, for values of one column that have no type in common.

        Notes
        -----
        Two calls per block, where it is, and a reduction of their schemas in between.
        """
        pieces = self._live("make a frame of it")
        spec = Spec(collection=self.name, kind="frame")
        made = self._map(spec, table_of, (), [None] * len(pieces), {})
        frame = Frame(made, None, name=self.name)
        if len(made) < 2:
            return frame
        schema: Any = frame.reduce(schema_of_both, schema_of)
        if frame.client is None:
            schema = schema.result()
        return frame.map_blocks(conformed, schema, name=self.name)

    if not TYPE_CHECKING:  # else a checker would find no mistake in names

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                # Libraries ask for names of protocols, often, and read no words.
                raise AttributeError(f"a Bag has no attribute {name!r}", name=name, obj=self)
            raise missing_attribute("a Bag", name, self, OF_BAG)

    def __contains__(self, item: object) -> bool:
        """Tell whether it is one of the items; blocks are looked at here, one after the other."""
        return any(item in items_of(block) for block in self.iter_blocks())

    @classmethod
    def from_items(cls, items: Iterable[Any], block_items: int, *, name: str = "bag") -> Self:
        """Cut values that are here into blocks and give them to the open cluster.

        Parameters
        ----------
        items
            The values.
        block_items
            Items per block, of which the last may have less; or offsets.
        name
            What messages call it.
        """
        items = list(items)
        offsets = cuts_of(len(items), block_items)
        ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return cls(put_all([items[start:stop] for start, stop in ends]), offsets, name=name)

    @classmethod
    def from_function(
        cls,
        items: int,
        block_items: int,
        function: Callable[[int, int], Any],
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make each block on a worker.

        Parameters
        ----------
        items
            How many there are.
        block_items
            Items per block, of which the last may have less; or offsets, from 0 to `items`.
        function
            Called as ``function(start, stop)``; returns those items.
        name
            What messages call it; the function's name by default.
        **options
            Those of `Cluster.submit`.
        """
        return cls._made(cuts_of(items, block_items), function, name, options)

    @classmethod
    def from_dask(cls, bag: Any, *, name: str = "bag") -> Self:
        """Make a bag of the blocks of a ``dask.bag``, where they are.

        Parameters
        ----------
        bag
            What `Cluster.persist` returned, or any other, which is computed on the open cluster.
        name
            What messages call it.

        Notes
        -----
        No block goes through this program. Without a cluster Dask's own scheduler computes it.
        """
        from freestone.collections.dask import blocks_of, check_kind, collection_of

        check_kind(bag, cls)
        return collection_of(cls, blocks_of(bag), name)

    def to_dask(self) -> Any:
        """Return a ``dask.bag`` whose partitions are the blocks, where they are."""
        from freestone.collections.dask import to_bag

        return to_bag(self)

    def __getitem__(self, items: slice) -> Self:
        """Take items: cut out of the blocks where they are used."""
        if not isinstance(items, slice):
            raise TypeError(f"a Bag is sliced by items, x[start:stop], not by {items!r}")
        return self._slice(items)


def _mapped(function: Callable[[Any], Any], block: Iterable[Any]) -> list[Any]:
    return [function(item) for item in items_of(block)]


def _filtered(function: Callable[[Any], Any], block: Iterable[Any]) -> list[Any]:
    return [item for item in items_of(block) if function(item)]


def _folded(function: Callable[[Any, Any], Any], initial: Any, block: Iterable[Any]) -> list[Any]:
    """Return the total of a block in a list, which is empty if there is none."""
    items = items_of(block)
    if initial is _Nothing:
        return [functools.reduce(function, items, first) for first in items][:1]
    # Each block begins with one of its own, which the function may change.
    return [functools.reduce(function, items, copy.deepcopy(initial))]


def _combined(combine: Callable[[Any, Any], Any], *totals: list[Any]) -> list[Any]:
    known = [total for one in totals for total in one]
    return [functools.reduce(combine, known)] if known else []


def _cut_by_key(
    key: Callable[[Any], Hashable], count: int, block: Iterable[Any]
) -> tuple[list[Any], ...] | list[Any]:
    """Return the items of a block by the part that their keys belong to."""
    parts: tuple[list[Any], ...] = tuple([] for _ in range(count))
    for item in items_of(block):
        parts[_part_of(key(item), count)].append(item)
    return parts if count > 1 else parts[0]


def _as_tuple(parts: Any) -> tuple[Any, ...]:
    return parts if isinstance(parts, tuple) else (parts,)


def _part_of(key: Hashable, count: int) -> int:
    """Return the part of a key, the same in every process and for keys that are equal."""
    digest = hashlib.blake2b(repr(_plain(key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) % count


def _plain(key: Hashable) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_plain, key))
    if key is None or type(key) in (str, bytes):
        return key
    if isinstance(key, int | float | np.integer | np.floating | np.bool_) and key == key:
        # Equal numbers of different types have one hash, the same in every process.
        return hash(key)
    if isinstance(key, str | bytes):
        return str(key) if isinstance(key, str) else bytes(key)
    raise TypeError(
        f"items can't be grouped by {key!r}, of type {type(key).__name__}: keys are texts, bytes, "
        "numbers other than NaN, None, and tuples of them"
    )


def _grouped(key: Callable[[Any], Hashable], *parts: Sequence[Any]) -> list[Any]:
    groups: dict[Hashable, list[Any]] = {}
    for part in parts:
        for item in part:
            groups.setdefault(key(item), []).append(item)
    return [*groups.items()]
