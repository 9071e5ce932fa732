"""Collections and their blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from freestone.errors.base import did_you_mean
from freestone.errors.usage import UsageError
from freestone.units import format_nbytes


class CollectionError(UsageError):
    """Something is wrong with a collection.

    Attributes
    ----------
    collection : str
        Its name.
    """

    slug = "collection"
    collection: str


class BlockingError(CollectionError, ValueError):
    """Collections that belong together are cut into blocks differently.

    Attributes
    ----------
    other : str
        The name of the other one.
    """

    slug = "blocking"
    other: str

    def __init__(
        self, collection: str, other: str, *, ours: str, theirs: str, like: str = "offsets"
    ) -> None:
        super().__init__(
            f"{collection!r} and {other!r} are cut differently: {ours} against {theirs}; give both "
            f"the same blocking, for instance with rechunk(other.{like})",
            collection=collection,
            other=other,
        )


class EmptyCollectionError(CollectionError, ValueError):
    """A collection without blocks."""

    slug = "empty-collection"

    def __init__(
        self,
        collection: str,
        action: str,
        reason: str = "it has no blocks; leave it out, or give it data",
    ) -> None:
        super().__init__(f"can't {action} {collection!r}: {reason}", collection=collection)


class DroppedError(CollectionError, RuntimeError):
    """A collection, or a partition of it, is used after it was dropped."""

    slug = "dropped"

    def __init__(self, collection: str, action: str) -> None:
        super().__init__(
            f"can't {action}: {collection!r} was dropped, and its blocks went; call drop() last, "
            "or make it again",
            collection=collection,
        )


class BlockShapeError(CollectionError, ValueError):
    """A block is not of the shape that its collection says.

    Attributes
    ----------
    block : int
        Its place in the collection.
    """

    slug = "block-shape"
    block: int

    def __init__(
        self,
        collection: str,
        block: int,
        *,
        wanted: str,
        found: str,
        advice: str = "return what fits, or give shape= and dtype= as they are",
    ) -> None:
        super().__init__(
            f"block {block} of {collection!r} should be {wanted} and is {found}; {advice}",
            collection=collection,
            block=block,
        )


class BlockTypeError(CollectionError, TypeError):
    """A block is of a type that its collection can't hold.

    Attributes
    ----------
    block : int
        Its place in the collection.
    """

    slug = "block-type"
    block: int

    def __init__(
        self,
        collection: str,
        block: int,
        *,
        wanted: str,
        found: str,
        advice: str = "convert it, or use freestone.Bag, which holds any values",
    ) -> None:
        super().__init__(
            f"block {block} of {collection!r} is {found}, and has to be {wanted}; {advice}",
            collection=collection,
            block=block,
        )


class TableError(CollectionError):
    """A step on a table can't be done to the columns that there are.

    Attributes
    ----------
    step : str
        The method, such as ``join``.
    reason : str
        Why, as polars says it.
    """

    slug = "table"
    step: str
    reason: str

    def __init__(self, step: str, *, reason: str, advice: str) -> None:
        message = f"can't {step}: {reason}{advice}"
        super().__init__(message, collection="", step=step, reason=reason)


class MissingColumnError(TableError, KeyError):
    """A column is named that the table does not have.

    Attributes
    ----------
    columns : tuple of str
        Those that it has.
    """

    slug = "missing-column"
    columns: tuple[str, ...]

    def __init__(self, step: str, *, reason: str, columns: Sequence[str]) -> None:
        named = re.findall(r'"([^"]*)"', reason)
        hint = did_you_mean(named[0], columns) if named else ""
        shown = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
        known = f"there are {shown}" if columns else "there are none"
        super().__init__(step, reason=reason, advice=f"{hint}; {known}")
        self.columns = tuple(columns)


class ColumnTypeError(TableError, TypeError):
    """What is asked of a column can't be done to its type."""

    slug = "column-type"

    def __init__(self, step: str, *, reason: str) -> None:
        super().__init__(step, reason=reason, advice="; cast the column first, or name another")


class ColumnClashError(TableError, ValueError):
    """Two columns would have the same name."""

    slug = "column-clash"

    def __init__(self, step: str, *, reason: str) -> None:
        super().__init__(step, reason=reason, advice="; give one another name, by alias or suffix")


class ExplodingJoinError(TableError, ValueError):
    """A join would make more rows than the machine has memory for.

    Attributes
    ----------
    left_rows, right_rows : int
        How many rows the tables have, or the parts of them that one call joins.
    rows, nbytes : int
        About how many rows the join would make, and their bytes at least; 0 bytes if they are
        only aggregated.
    keys : str
        By what rows are joined, ``"id, day = date"``; empty if by nothing.
    """

    slug = "exploding-join"
    left_rows: int
    right_rows: int
    rows: int
    nbytes: int
    keys: str

    def __init__(
        self,
        *,
        left_rows: int,
        right_rows: int,
        rows: int,
        nbytes: int,
        how: str = "inner",
        keys: str = "",
    ) -> None:
        advice = (
            ": many rows of both tables have the same keys; join by more columns, group one "
            "table by its keys first, or leave out keys that stand for a missing value"
        )
        if how == "cross":
            advice = ": it pairs every row with every row; filter the tables first, or join them "
            advice += "by columns"
        size = f"{format_nbytes(nbytes)} at least, which is more than the machine has memory for"
        if not nbytes:
            size = "which takes minutes to hours, even if they are only aggregated"
        by = f"by {keys}, " if keys else ""
        super().__init__(
            "join",
            reason=f"{by}of {left_rows:,} and {right_rows:,} rows it would make about {rows:,}, "
            + size,
            advice=advice,
        )
        self.keys = keys
        self.left_rows, self.right_rows = left_rows, right_rows
        self.rows, self.nbytes = rows, nbytes


class QueryError(TableError, ValueError):
    """A query in SQL can't be asked of the tables that there are.

    Attributes
    ----------
    query : str
        The query.
    """

    slug = "query"
    query: str

    def __init__(self, query: str, *, reason: str) -> None:
        super().__init__("ask the query", reason=reason, advice=f"; the query is {query.strip()!r}")
        self.query = query
