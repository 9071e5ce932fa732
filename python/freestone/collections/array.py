"""Arrays cut into row blocks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from freestone.collections.base import Collection
from freestone.collections.blocking import cuts_of, offsets_of
from freestone.collections.making import Meta, Spec, check_dtype, describe
from freestone.collections.protocols import Expressions, expression_of
from freestone.collections.rows import is_sparse, sendable_dtype, split_rows
from freestone.collections.sources import made, name_of, put_all
from freestone.units import is_unknown

__all__ = ["Array"]

BlockRows = int | Sequence[int] | NDArray[Any]


class Array(Expressions, Collection):
    """An array cut into blocks of rows: NumPy arrays, or SciPy's CSR or COO matrices.

    Made by `from_numpy`, `from_function` and their like. Blocks may be of different lengths.
    Operators, and NumPy's functions of it, make expressions that are computed when they are asked
    for, fused, where the blocks are: ``np.exp(x).sum().compute()``. A loop over an array yields its
    rows, as over NumPy's; `iter_blocks` yields its blocks.

    Attributes
    ----------
    name : str
        What messages call it.
    offsets : ndarray of shape (blocks + 1,)
        Where each block begins.
    """

    kind = "array"

    def __init__(
        self,
        pieces: Sequence[Any],
        offsets: NDArray[np.int64] | None,
        *,
        name: str,
        metas: Sequence[Meta] | None = None,
        columns: tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(pieces, offsets, name=name, metas=metas)
        self._columns = columns
        self._dtype = None if dtype is None else np.dtype(dtype)
        # What its first block is; columns and dtype above hold of every block.
        self._head: Meta | None = None

    # -- making -------------------------------------------------------------------------------

    @classmethod
    def from_numpy(cls, x: Any, block_rows: BlockRows, *, name: str = "array") -> Self:
        """Cut an array that is here into blocks and give them to the open cluster.

        Parameters
        ----------
        x
            An array of shape ``(n, ...)``, or a SciPy sparse matrix: COO stays COO, any other form
            becomes CSR.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to n.
        name
            What messages call it.

        Raises
        ------
        BlockTypeError
            For a dtype that holds Python objects, and for a masked array.

        Notes
        -----
        Copies every byte once, into the cache of the worker on this machine; without a cluster,
        into this program's memory. Blocks can't be written into.
        """
        x = Spec(collection=name, kind=cls.kind).check(x, 0, None)
        offsets = cuts_of(x.shape[0], block_rows)
        starts, stops = offsets[:-1].tolist(), offsets[1:].tolist()
        blocks = split_rows(x, starts, stops)
        columns = tuple(map(int, x.shape[1:]))
        return cls(put_all(blocks), offsets, name=name, columns=columns, dtype=x.dtype)

    @classmethod
    def from_function(
        cls,
        shape: int | tuple[int, ...],
        block_rows: BlockRows,
        function: Callable[[int, int], Any],
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make each block on a worker.

        Parameters
        ----------
        shape
            ``(n, ...)``, or n alone.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to n.
        function
            Called as ``function(start, stop)``; returns those rows. Equal calls must have equal
            results, since a block that is lost is made again.
        dtype
            To what blocks are converted; by default they stay as they are.
        name
            What messages call it; the function's name by default.
        **options
            Those of `Cluster.submit`.

        Notes
        -----
        One call per block. Blocks stay on the workers that make them, small ones too.
        """
        shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        if not shape:
            raise ValueError("shape=(): an Array has one dimension or more")
        spec = Spec(
            collection=name or name_of(function),
            kind=cls.kind,
            columns=shape[1:],
            dtype=None if dtype is None else sendable_dtype(np.dtype(dtype)),
        )
        offsets = cuts_of(shape[0], block_rows)
        pieces = made(spec, function, offsets, options)
        return cls(pieces, offsets, name=spec.collection, columns=shape[1:], dtype=dtype)

    @classmethod
    def from_dask(cls, x: Any, *, name: str = "array") -> Self:
        """Make an array of the blocks of a ``dask.array``, where they are.

        Parameters
        ----------
        x
            What `Cluster.persist` returned, whose blocks are taken as they are; or any other,
            which is computed on the open cluster, and its blocks stay on the workers.
        name
            What messages call it.

        Raises
        ------
        BlockTypeError
            For blocks that hold Python objects, and for masked arrays; when it is computed or
            written, for blocks of another dtype than ``x.dtype``, which Dask does not check.
        TypeError
            For what is no array of Dask's.

        Notes
        -----
        No block goes through this program. An Array is cut by rows only, so that blocks side by
        side are joined on the workers. Without a cluster Dask's own scheduler computes it.
        """
        from freestone.collections.dask import are_held, array_blocks, check_kind

        check_kind(x, cls)
        blocks, rows = array_blocks(x, name)
        if not are_held(blocks):
            made = cls._from_own(blocks, name=name)
            check_dtype(name, x.dtype, [describe(block) for block in blocks])
            return made
        offsets = None if rows is None else offsets_of(rows)
        known = not is_unknown(*x.shape[1:])
        columns = tuple(map(int, x.shape[1:])) if known else None
        return cls(blocks, offsets, name=name, columns=columns, dtype=x.dtype)

    @classmethod
    def from_zarr(cls, url: str, *, block_rows: BlockRows | None = None) -> Self:
        """Read a Zarr array, each block on a worker; needs ``freestone[zarr]``.

        Parameters
        ----------
        url
            A path, or a URL that fsspec understands.
        block_rows
            Rows per block; those of the store's chunks by default.
        """
        from freestone.io.stores import expanded
        from freestone.storage.zarr import open_zarr, read_rows

        url = expanded(url)
        store = open_zarr(url)
        rows = store.chunks[0] if block_rows is None else block_rows
        read = functools.partial(read_rows, url)
        return cls.from_function(store.shape, rows, read, dtype=store.dtype, name=url)

    def to_dask(self) -> Any:
        """Return a ``dask.array`` whose chunks are the blocks, where they are.

        Notes
        -----
        Nothing moves when ``scheduler=cluster.get`` computes it. Other schedulers fetch the blocks
        into this program. An array that was made without ``dtype=`` waits for its blocks, since
        Dask makes all of them the type of the first.

        Raises
        ------
        BlockShapeError
            For the first block of another dtype or other columns than block 0.
        """
        from freestone.collections.dask import to_array

        self._require_alike()
        return to_array(self)

    def to_zarr(self, url: str) -> None:
        """Write it as a Zarr array, each block by a worker; needs ``freestone[zarr]``.

        Notes
        -----
        Blocks of uneven lengths are rechunked first: chunks of a store are of one length. A path
        gets all of it or nothing, and takes the place of no folder but an array's; at any other URL
        each chunk is seen when it is written.
        """
        from freestone.io.formats.zarr import drafted
        from freestone.io.stores import locate
        from freestone.storage.meters import Meter
        from freestone.storage.zarr import write_chunks

        place = locate(url)
        if place.path is None:
            write_chunks(self, url, Meter())
            return
        with drafted(place) as folder:
            write_chunks(self, folder, Meter())

    # -- what it knows ------------------------------------------------------------------------

    def _first(self) -> Meta:
        if self._head is None:
            asked = self if self._offsets is None else self._slice_blocks(0, 1)
            self._head = asked._described()[0]
        return self._head

    def _require_alike(self) -> None:
        """Raise the error for the first block that does not go with block 0."""
        if self._pieces and (self._columns is None or self._dtype is None):
            first = self._described()[0]
            self._columns, self._dtype = first.columns, np.dtype(first.dtype)

    def _described(self) -> list[Meta]:
        metas = super()._described()
        check_dtype(self.name, self._dtype, metas)
        return metas

    def _joined(self, blocks: Sequence[Any]) -> Any:
        whole = super()._joined(blocks)
        check_dtype(self.name, self._dtype, [describe(block) for block in blocks])
        return whole

    def _row_shape(self) -> tuple[int, ...]:
        if self._columns is not None:
            return self._columns
        return self._first().columns if self._live("ask for its shape") else ()

    def _slice_blocks(self, start: int, stop: int) -> Array:
        pieces = self._live("look at its blocks")[start:stop]
        return Array(pieces, None, name=self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, ...)``; asks the first block for the shape of a row if that is not known."""
        return (len(self), *self._row_shape())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the blocks; asks the first one if that is not known.

        Texts of all blocks have to be of one width, so that all are asked: BlockShapeError if not.
        Blocks of other dtypes are refused where the array is computed.
        """
        if self._dtype is not None:
            return self._dtype
        first = np.dtype(self._first().dtype if self._live("ask for its dtype") else float)
        if first.kind in "US":
            self._require_alike()
        return first

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, as NumPy counts them; of sparse arrays those of their blocks."""
        if self._live("ask for its bytes") and self._first().sparse:
            return super().nbytes
        return self.size * self.itemsize

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def __setitem__(self, rows: Any, value: Any) -> NoReturn:
        raise TypeError(
            "the blocks of an Array do not change; make another array, such as "
            "np.where(mask, value, array), or change a copy of its values, array.compute()"
        )

    def __getitem__(self, rows: Any) -> Any:
        """Take rows without copying them: views of the blocks, cut out where they are used.

        Any other index, such as ``x[x > 0]`` or ``x[:, 1]``, makes an expression; what moves rows,
        such as a list of them or a slice with a step, is computed at once.
        """
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            return expression_of(self)[rows]
        part = self._slice(rows)
        part._columns, part._dtype, part._head = self._columns, self._dtype, self._head
        return part

    def _alike(self, pieces: Sequence[Any], offsets: NDArray[np.int64]) -> Self:
        columns, dtype = self._columns, self._dtype
        alike = type(self)(pieces, offsets, name=self.name, columns=columns, dtype=dtype)
        alike._head = self._head
        return alike

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows as one NumPy array, here."""
        whole = self.compute()
        found = np.asarray(whole.toarray() if is_sparse(whole) else whole, dtype=dtype)
        return found.copy() if copy else found

    # -- what can be done with it -------------------------------------------------------------

    def compute_chunk_sizes(self) -> Self:
        """Know how many rows each block has, as Dask's method of this name.

        Returns
        -------
        Array
            This array itself.

        Notes
        -----
        Nothing happens where that is known, as it is unless blocks were taken of a ``dask.array``
        that does not know it itself: those are waited for.
        """
        _ = self.offsets
        return self

    def map_blocks(
        self,
        function: Callable[..., Any],
        *more: Any,
        dtype: DTypeLike | None = None,
        shape: tuple[int, ...] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Call a function with each block; what it returns are the blocks of the result.

        Parameters
        ----------
        function
            Called as ``function(block, *more)``, where the block is; returns as many rows.
        *more
            Arrays of the same blocking, of which it gets the block that goes with it; or values,
            which it gets as they are.
        dtype, shape
            Those of the result, checked; asked of its first block by default. `shape` is that
            of the whole: ``(n, ...)``. Blocks of a narrower dtype, which loses nothing, are
            converted.
        name
            What the result is called; the function's name by default.
        **options
            Those of `Cluster.submit`.

        Raises
        ------
        BlockingError
            When an array among `more` is cut into blocks differently.
        BlockTypeError
            When the result is computed, for a block of a dtype that `dtype` can't hold.
        """
        spec = Spec(
            collection=name or name_of(function),
            kind=self.kind,
            columns=None if shape is None else tuple(shape[1:]),
            dtype=None if dtype is None else sendable_dtype(np.dtype(dtype)),
            converts=False,
        )
        rows = np.diff(self.offsets).tolist()
        pieces = self._map(spec, function, more, rows, options)
        return type(self)(
            pieces, self.offsets, name=spec.collection, columns=spec.columns, dtype=dtype
        )
