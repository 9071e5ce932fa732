"""Tables cut into blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

import numpy as np

from freestone.client import Client, current, gather
from freestone.collections.base import Collection
from freestone.collections.blocking import Offsets, cuts_of
from freestone.collections.collecting import collect, naming_lost_blocks
from freestone.collections.hints import is_test, missing, not_an_index
from freestone.collections.making import Meta, Spec
from freestone.collections.pieces import value_of
from freestone.collections.relational import Relational
from freestone.collections.rows import arrow, as_pandas, describe_type, one_schema, take_rows
from freestone.collections.sources import put_all
from freestone.errors import EmptyCollectionError, UsageError
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from freestone.collections.tables import Node
    from freestone.collections.tables.stages import Stage

__all__ = ["Frame", "Scan"]


_CONCATENATED = ("vertical", "vertical_relaxed", "diagonal", "diagonal_relaxed")


class Scan(Protocol):
    """Files that are not read yet, and make a frame."""

    @property
    def client(self) -> Client:
        """The cluster whose workers read them."""
        ...

    def read(self) -> Frame:
        """Have all rows and columns read."""
        ...

    def narrow(self, columns: Sequence[str], where: Any) -> Frame:
        """Have some columns read, of rows of which an expression of pyarrow is true, or of all."""
        ...


@suggest_keywords
class Frame(Collection, Relational):
    """A table cut into blocks of rows: Arrow tables of the same columns.

    Made by `from_table`, `from_function` and their like, which also take what pandas and a dict
    of columns give. Blocks may be of different lengths. Needs ``pyarrow``.

    The index of a pandas frame is kept as columns, by its names, and is an index again in
    `to_pandas`. Only an index of whole numbers without a name, which are numbers of rows, is not.
    Names of columns are texts: ``"0"`` of 0, and ``"('a', 'b')"`` of a pandas MultiIndex.
    """

    kind = "frame"
    _comparing = "x.filter(pl.col('a') == 1) takes rows by a value; x.to_polars() is all, here"

    def __init__(
        self,
        pieces: Sequence[Any],
        offsets: Offsets | None,
        *,
        name: str,
        metas: Sequence[Meta] | None = None,
        schema: pa.Schema | None = None,
    ) -> None:
        super().__init__(pieces, offsets, name=name, metas=metas)
        self._schema = schema
        # A table without rows of its columns, once a plan has asked for it.
        self._empty: pl.DataFrame | None = None
        # The plan that makes the blocks, until it is carried out.
        self._node: Node | None = None
        # The files that its blocks are read from, until they are.
        self._scan: Scan | None = None
        # Whether the blocks are exactly as polars would make them of themselves.
        self._is_planned = False
        # Whether the blocks were here, and so are named by their content.
        self._is_put = False

    @classmethod
    def from_table(cls, table: Any, block_rows: int, *, name: str = "frame") -> Self:
        """Cut a table that is here into blocks and give them to the open cluster.

        Parameters
        ----------
        table
            An Arrow table, a pandas frame, or a dict of columns of one length.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to n.
        name
            What messages call it.

        Notes
        -----
        Copies every byte once, into the cache of the worker on this machine; without a cluster,
        into this program's memory. Blocks can't be written into.
        """
        table = Spec(collection=name, kind=cls.kind).check(table, 0, None)
        offsets = cuts_of(table.num_rows, block_rows)
        ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        blocks = put_all([take_rows(table, *end) for end in ends])
        frame = cls(blocks, offsets, name=name, schema=table.schema)
        frame._is_put = True
        return frame

    @classmethod
    def from_arrow(cls, table: Any, block_rows: int | None = None, *, name: str = "frame") -> Self:
        """Cut what has Arrow's C stream into blocks and give them to the open cluster.

        Parameters
        ----------
        table
            An Arrow table or reader, a frame of polars, DuckDB or pandas: anything with
            ``__arrow_c_stream__``.
        block_rows
            Rows per block; by default each of the cluster's executors gets one.
        name
            What messages call it.

        Notes
        -----
        Copies every byte once, as `from_table` does.
        """
        pa = arrow()
        if not isinstance(table, dict) and not hasattr(table, "__arrow_c_stream__"):
            raise TypeError(
                "from_arrow() takes what has __arrow_c_stream__, as tables of Arrow, polars and "
                f"pandas do, not {describe_type(table)}; from_table() takes columns by name"
            )
        table = pa.table(table)
        if block_rows is None:
            client = current()
            slots = 1 if client is None else max(client.slots, 1)
            block_rows = max(1, -(-table.num_rows // slots))
        return cls.from_table(table, block_rows, name=name)

    @classmethod
    def from_polars(cls, frame: Any, block_rows: int | None = None, *, name: str = "frame") -> Self:
        """Cut a frame of polars, lazy or not, into blocks; see `from_arrow`."""
        import polars as pl

        from freestone.collections.tables import to_arrow

        if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
            raise TypeError(
                f"from_polars() takes a frame of polars, not what is {describe_type(frame)}; "
                "from_table() takes other tables and a dict of columns"
            )
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return cls.from_arrow(to_arrow(frame), block_rows, name=name)

    @classmethod
    def from_pandas(cls, frame: Any, block_rows: int | None = None, *, name: str = "frame") -> Self:
        """Cut a frame of pandas into blocks, its index kept as columns; see `from_arrow`.

        Notes
        -----
        An index of whole numbers without a name is left out, since that is what pandas numbers
        rows by; ``frame.rename_axis("row")`` gives it a name.
        """
        table = Spec(collection=name, kind=cls.kind).check(frame, 0, None)
        return cls.from_arrow(table, block_rows, name=name)

    @classmethod
    def from_function(
        cls,
        rows: int,
        block_rows: int,
        function: Callable[[int, int], Any],
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make each block on a worker.

        Parameters
        ----------
        rows
            How many there are.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to `rows`.
        function
            Called as ``function(start, stop)``; returns those rows.
        name
            What messages call it; the function's name by default.
        **options
            Those of `Cluster.submit`.
        """
        return cls._made(cuts_of(rows, block_rows), function, name, options)

    @classmethod
    def concat(cls, frames: Iterable[Self], *, how: str = "vertical") -> Self:
        """Put frames below each other, lazily, as ``polars.concat``; no block moves.

        Parameters
        ----------
        frames
            At least one.
        how
            ``"vertical"``: all have the same columns of the same types; ``"vertical_relaxed"``:
            types become those that hold all; ``"diagonal"`` and ``"diagonal_relaxed"``: columns
            that some lack are null there.
        """
        if how not in _CONCATENATED:
            raise UsageError(
                f"concat(how={how!r}): it is one of {', '.join(map(repr, _CONCATENATED))}; columns "
                "beside each other are a join"
            )
        found = list(frames)
        if not found:
            raise ValueError("concat([]): there is nothing to put together; give a frame or more")
        first, *others = found
        _require_frame(first, "concat")
        return first._then("concat", others=others, how=how)

    @classmethod
    def from_dask(cls, frame: Any, *, name: str = "frame") -> Self:
        """Make a frame of the blocks of a ``dask.dataframe``, where they are.

        Parameters
        ----------
        frame
            What `Cluster.persist` returned, or any other, which is computed on the open cluster.
        name
            What messages call it.

        Notes
        -----
        No block goes through this program. Blocks become Arrow tables, each by a call where it is.
        Without a cluster Dask's own scheduler computes it.
        """
        from freestone.collections.dask import blocks_of, check_kind, collection_of, converted

        check_kind(frame, cls)
        blocks = converted(blocks_of(frame), Spec(collection=name, kind=cls.kind))
        return collection_of(cls, blocks, name)

    def to_dask(self) -> Any:
        """Return a ``dask.dataframe`` whose partitions are the blocks, where they are.

        Raises
        ------
        BlockTypeError, BlockShapeError
            For the first block whose columns are of other types, or others.

        Notes
        -----
        Waits for its blocks, whose types it asks, unless they are known: Dask takes all blocks for
        what the first is.
        """
        from freestone.collections.dask import to_frame

        return to_frame(self)

    def compute(self) -> pa.Table:
        """Return all rows as one Arrow table, here."""
        with naming_lost_blocks():
            self._finish()
        return super().compute()

    def to_arrow(self) -> pa.Table:
        """Return all rows as one Arrow table, here."""
        table: pa.Table = self.compute()
        return table

    def to_pandas(self) -> Any:
        """Return all rows as one pandas frame, here."""
        return as_pandas(self.compute())

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as one frame of polars, here."""
        from freestone.collections.tables import to_polars

        with naming_lost_blocks():
            self._finish()
            blocks = [value_of(piece) for piece in self._live("compute it")]
        return to_polars(blocks, self._as_node())

    def collect(self) -> pl.DataFrame:
        """Return all rows as one frame of polars, here; the same as `to_polars`."""
        return self.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give all rows, here, to whatever takes Arrow's C stream."""
        return self.compute().__arrow_c_stream__(requested_schema)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return all rows as one NumPy array without names, here, as a pandas frame does."""
        return np.asarray(self.to_pandas(), dtype=dtype)

    def __iter__(self) -> NoReturn:
        """Raise `TypeError`: libraries of frames differ in whether these are columns or rows."""
        raise TypeError(
            "a Frame is not iterated over: to_polars().iter_rows() yields its rows, iter_blocks() "
            "its blocks, and .columns are the names of its columns"
        )

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a column of a name."""
        return name in self.columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; asks the blocks if they are not known."""
        if self._node is not None:
            return tuple(self._node.schema)
        if self._scan is not None:
            return tuple(self.schema.names)
        metas = self._described()
        return tuple(map(str, metas[0].columns)) if metas else ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema; of a lazy frame what polars will make, before anything is computed.

        Asks the workers, once, if it is not known; no block comes here.
        """
        if self._schema is None:
            if self._node is not None:
                from freestone.collections.tables import schema_of

                self._schema = schema_of(self._node.empty)
            else:
                self._schema = self._asked_schema()
        return self._schema

    def _asked_schema(self) -> pa.Schema:
        pieces = self._live("ask for its schema")
        if not pieces:
            raise EmptyCollectionError(self.name, "ask for the schema of")
        client = self.client
        if client is None:
            return one_schema([_schema_of(piece) for piece in pieces], self.name)
        return one_schema(gather(client.map(_schema_of, zip(pieces))), self.name)

    # -- lazily -------------------------------------------------------------------------------

    @property
    def is_lazy(self) -> bool:
        """Whether it is a plan still, and has no blocks yet."""
        return self._node is not None

    @property
    def client(self) -> Client | None:
        """The cluster that holds the blocks, or those that it is made of."""
        if self._scan is not None:
            return self._scan.client
        if self._node is None:
            return super().client
        return next((leaf.client for leaf in self._leaves() if leaf.client is not None), None)

    def _leaves(self) -> Iterator[Frame]:
        from freestone.collections.tables import leaves

        for leaf in leaves(self._node):
            yield leaf.frame

    def _as_node(self) -> Node:
        """Return the plan of its rows."""
        from freestone.collections.tables import Leaf, empty_of

        if self._node is not None:
            return Leaf(self._node.empty, self)
        if self._empty is None:
            self._empty = empty_of(self.schema, self.name)
        return Leaf(self._empty, self)

    def _then(self, method: str, /, *args: Any, others: Sequence[Any] = (), **options: Any) -> Self:
        from freestone.collections.tables import op

        for each in (self, *others):
            _require_frame(each, method)
        nodes = [each._as_node() for each in (self, *others)]
        frame = type(self)([], None, name=f"{self.name}.{method}")
        frame._node = op(method, nodes, *args, **options)
        return frame

    def _live(self, action: str) -> list[Any]:
        if self._node is not None and self._pieces is not None:
            stage = self._lowered(self._node)
            self._carried_out([block for (block,) in stage.blocks()])
        if self._scan is not None and self._pieces is not None:
            self._take(self._scan.read())
        return super()._live(action)

    def _take(self, read: Frame) -> None:
        """Have the blocks of another frame, which were read from the same files."""
        self._scan = None
        self._pieces, self._offsets, self._metas = read._pieces, read._offsets, read._metas
        self._waiting = read._waiting
        self._collected = collect(self, self._pieces or [])

    def _finish(self) -> None:
        """Compute the blocks, which are about to be waited for."""
        if self._node is not None and self._pieces is not None:
            from freestone.collections.tables import finished

            self._carried_out(finished(self._lowered(self._node)))

    def _lowered(self, node: Node) -> Stage:
        """Return the stage by which the blocks are computed."""
        from freestone.collections.tables import forget_members, lower, with_shared_steps_done

        forget_members()
        _ = self.schema
        stage = lower(with_shared_steps_done(node), None)
        in_order = self.columns == tuple(stage.columns)
        return stage if in_order else stage.then("select", list(self.columns))

    def _carried_out(self, pieces: list[Any]) -> None:
        """Have blocks that are computed; from now on it is a frame like others."""
        self._pieces = pieces
        self._node = None
        self._is_planned = True
        self._collected = collect(self, self._pieces)

    def drop(self, *columns: Any, strict: bool = True) -> Any:
        """Leave columns out; without any, let the blocks go.

        Parameters
        ----------
        *columns
            Names, or selectors of polars'. Then this is ``LazyFrame.drop``, and returns a frame.
        strict
            Whether all have to be there.
        """
        if columns:
            return Relational.drop(self, *columns, strict=strict)
        self._node = self._scan = None
        return super().drop()

    def __len__(self) -> int:
        """How many rows there are; of a lazy frame they are counted, and not kept."""
        if self._node is None:
            return super().__len__()
        import polars as pl

        return int(self.select(pl.len()).to_polars().item())

    def __repr__(self) -> str:
        if self._scan is not None and self._pieces is not None:
            return f"<freestone.Frame {self.name!r}: not read yet, {len(self.columns):,} columns>"
        if self._node is None:
            return super().__repr__()
        return f"<freestone.Frame {self.name!r}: lazy, {len(self.columns):,} columns>"

    def _repr_html_(self) -> str:
        is_made = self._node is None and self._scan is None
        return super()._repr_html_() if is_made else escape(repr(self))

    if not TYPE_CHECKING:  # else a checker would find no mistake in names

        def __getattr__(self, name: str) -> Any:
            known = (each for each in dir(type(self)) if not each.startswith("_"))
            is_private = name.startswith("_")
            problem = f"a Frame has no {name!r}" if is_private else missing(name, known)
            raise AttributeError(problem, name=name, obj=self)

    def __getitem__(self, key: Any) -> Self:
        """Take rows or columns: ``x[10:20]``, ``x[["a", "b"]]`` or ``x[pl.col("a") > 0]``.

        Rows of a slice are not copied: they are views of the blocks, cut out where they are used.
        A list of names is `select`, and an expression of polars' that is true or false is `filter`.
        """
        if isinstance(key, slice):
            return self._slice(key)
        if isinstance(key, list) and key and all(isinstance(each, str) for each in key):
            return self.select(key)
        if is_test(key):
            return self.filter(key)
        raise TypeError(not_an_index(key))


def _schema_of(table: pa.Table) -> pa.Schema:
    return table.schema


def _require_frame(value: Any, method: str) -> None:
    if not isinstance(value, Frame):
        raise TypeError(
            f"{method}() takes a freestone.Frame, not what is of type {type(value).__name__}; "
            "make one of it, for instance with Frame.from_arrow"
        )
