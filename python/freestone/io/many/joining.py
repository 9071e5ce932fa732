"""What many files are together, and how rows of one become rows of all.

The rule: columns are joined by name, in the order of the first file. Types of one column become the
smallest that Arrow has for all of them: wider integers, floats, decimals and times; a float for
integers and floats; any for a column without values. A value that the joint type can't hold exactly
is an error of its file. All else is refused: text and numbers, booleans and numbers, times with
zones and without, and, unless it is asked for, columns that a file lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, SchemaError
from freestone.io.dataset import Dataset
from freestone.io.formats.tables import first_line, repeated
from freestone.io.many.finding import Keys
from freestone.io.many.keys import with_keys
from freestone.io.many.parts import Part
from freestone.io.many.predicates import filtered, missing_column
from freestone.io.many.request import Request
from freestone.io.open_once import kept_open

__all__ = ["Joined", "Piece", "check_there_are", "join_parts"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one file, ``start:stop``."""

    dataset: Dataset
    keys: Keys
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Joined:
    """What pieces of any of the files become.

    Attributes
    ----------
    kind : {"array", "frame"}
        What all files are.
    row : tuple
        The shape of a row of an array.
    dtype : str or None
        The dtype of an array.
    schema : pyarrow.Schema or None
        The columns of a frame, those that only the predicate needs among them.
    columns : tuple of str
        The columns of the frame that is made.
    where : pyarrow.compute.Expression or None
        Which rows are wanted.
    tested : tuple of str
        The columns on which that depends.
    key_types : dict
        Types of the columns that folders give.
    """

    kind: str
    row: tuple[Any, ...] = ()
    dtype: str | None = None
    schema: Any = None
    columns: tuple[str, ...] = ()
    where: Any = None
    tested: tuple[str, ...] = ()
    key_types: dict[str, Any]

    def read(self, pieces: Sequence[Piece], *, threads: int = 1) -> Any:
        """Read pieces, one below the other.

        Raises
        ------
        FormatError
            When a value has no form in the type that all files have.
        """
        return self.together([self._piece(piece, threads) for piece in pieces])

    def together(self, blocks: Sequence[Any]) -> Any:
        """Return blocks, one below the other."""
        if self.kind == "frame":
            import pyarrow as pa

            return pa.concat_tables(blocks) if blocks else self._empty()
        if len(blocks) == 1:
            return blocks[0]
        if hasattr(blocks[0], "tocsr"):
            import scipy.sparse

            return scipy.sparse.vstack(blocks, format=blocks[0].format)
        return np.concatenate(blocks)

    def _empty(self) -> Any:
        return self.schema.empty_table().select(list(self.columns))

    def _piece(self, piece: Piece, threads: int) -> Any:
        dataset = piece.dataset
        if self.kind == "array":
            block = dataset.read(piece.start, piece.stop, threads=threads)
            return _exact(block, str(self.dtype), dataset)
        tested = tuple(name for name in dataset.columns if name in self.tested)
        others = tuple(name for name in dataset.columns if name not in self.tested)
        if not (dataset.is_columnar and tested and others):
            return self._wanted(self._table(dataset, piece, threads))
        with kept_open():
            # Where no row is wanted the other columns are not read.
            first = self._table(dataset.select(tested), piece, threads)
            if not self._wanted(first).num_rows:
                return self._empty()
            rest = self._table(dataset.select(others), piece, threads)
        return self._wanted({**rest, **first})

    def _wanted(self, columns: dict[str, Any]) -> Any:
        """Return the rows and columns that are wanted of all columns."""
        import pyarrow as pa

        rows = len(next(iter(columns.values())))
        lacking = {
            one.name: pa.nulls(rows, one.type) for one in self.schema if one.name not in columns
        }
        every = columns | lacking
        table = pa.table([every[one.name] for one in self.schema], schema=self.schema)
        return filtered(table, self.where).select(list(self.columns))

    def _table(self, dataset: Dataset, piece: Piece, threads: int) -> dict[str, Any]:
        """Return rows of a file, with its keys, in columns of the types that all files have."""
        table = dataset.read(piece.start, piece.stop, threads=threads)
        table = with_keys(table, piece.keys, self.key_types)
        found = {}
        for one in self.schema:
            if one.name in table.schema.names:
                column = table.column(one.name)
                found[one.name] = column if column.type == one.type else _cast(column, one, dataset)
        # Of a file that has none of them the number of rows is left.
        return found or {"": table.column(0)}


def _cast(column: Any, wanted: Any, dataset: Dataset) -> Any:
    import pyarrow as pa

    try:
        return column.cast(wanted.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = (
            f"column {wanted.name!r} is {column.type} here, and {wanted.type} in all files "
            f"together, which can't hold it exactly: {first_line(error)}"
        )
        raise FormatError(dataset.location.url, reason) from None


def join_parts(parts: Sequence[Part], request: Request) -> Joined:
    """Say what parts are together.

    Raises
    ------
    SchemaError
        When two of them don't go together.
    MissingColumnError
        When a column is in none of them.
    """
    first, key_types = parts[0], request.key_types
    for part in parts[1:]:
        if part.dataset.kind != first.dataset.kind:
            reason = f"it holds {_a(part)}, and the other {_a(first)}; say kind="
            raise SchemaError(part.dataset.location.url, first.dataset.location.url, reason)
    if first.schema is None:
        return _join_arrays(parts)
    for part in parts[1:]:
        _check_meaning(part.dataset, first.dataset)
    schema = _join_schemas(parts, request)
    import pyarrow as pa

    asked = None if request.columns is None else {*request.columns, *request.tested}
    for name, kind in key_types.items():
        if asked is None or name in asked:
            schema = schema.append(pa.field(name, kind))
    check_there_are(request.columns or (), schema.names, parts)
    columns = tuple(schema.names) if request.columns is None else request.columns
    return Joined(
        kind="frame",
        schema=schema,
        columns=columns,
        where=request.where,
        tested=request.tested,
        key_types={name: kind for name, kind in key_types.items() if name in schema.names},
    )


def _a(part: Part) -> str:
    return f"{'an' if part.dataset.kind == 'array' else 'a'} {part.dataset.kind}"


def check_there_are(names: Sequence[str], known: Sequence[str], parts: Sequence[Part]) -> None:
    """Raise `MissingColumnError` for the first name that none of some files has."""
    url = parts[0].dataset.location.url
    everywhere = url if len(parts) == 1 else f"{url}, as each of the other files,"
    for name in names:
        if name not in known:
            raise missing_column(name, everywhere, known, "columns=")


# -- arrays ---------------------------------------------------------------------------------------


def _join_arrays(parts: Sequence[Part]) -> Joined:
    first = parts[0].dataset
    dtype = np.dtype(first.dtype)
    for part in parts[1:]:
        one = part.dataset
        ours, theirs = _form(one), _form(first)
        if ours != theirs or not _alike(np.dtype(one.dtype), dtype):
            reason = (
                f"its rows are {ours} of {np.dtype(one.dtype)}, and the other's {theirs} of {dtype}"
            )
            raise SchemaError(
                one.location.url, first.location.url, f"{reason}; convert one of them"
            )
        _check_meaning(one, first)
        dtype = np.result_type(dtype, np.dtype(one.dtype))
    return Joined(kind="array", row=first.columns, dtype=dtype.str, key_types={})


def _check_meaning(one: Dataset, first: Dataset) -> None:
    """Raise the error for rows that would be joined with others that mean something else."""
    theirs = dict(first.meaning)
    for name, own in one.meaning:
        if name in theirs and theirs[name] != own:
            shown = all(isinstance(each, str) and len(each) < 60 for each in (own, theirs[name]))
            which = f"are {own}, and the other's {theirs[name]}" if shown else "are others"
            join = "np.concatenate them" if one.kind == "array" else "fs.Frame.concat([one, other])"
            advice = f"read them apart, convert or sort one, and {join}"
            raise SchemaError(one.location.url, first.location.url, f"its {name} {which}; {advice}")


def _form(dataset: Dataset) -> str:
    sparse = "" if dataset.nonzeros is None else "sparse, "
    return f"{sparse}of shape {tuple(dataset.columns)}"


def _alike(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Tell whether both are numbers, or of one kind."""
    return one.kind == other.kind or {one.kind, other.kind} <= set("iufc")


def _exact(block: Any, dtype: str, dataset: Dataset) -> Any:
    """Return an array in the type of all files, if that holds each of its values."""
    wanted = np.dtype(dtype)
    if block.dtype == wanted:
        return block
    values = block.data if hasattr(block, "tocsr") else block
    if values.dtype.kind in "iu" and wanted.kind in "fc" and values.size:
        real = wanted if wanted.kind == "f" else np.dtype(f"f{wanted.itemsize // 2}")
        most = 1 << (np.finfo(real).nmant + 1)
        low, high = int(values.min()), int(values.max())
        if max(abs(low), abs(high)) > most:
            reason = (
                f"it has integers of {low:,} to {high:,}, and {wanted}, which all files have "
                f"together, holds them exactly up to {most:,}"
            )
            raise FormatError(dataset.location.url, reason)
    return block.astype(wanted)


# -- frames ---------------------------------------------------------------------------------------


def _join_schemas(parts: Sequence[Part], request: Request) -> Any:
    """Join the columns of all files, each with the first file that has them so."""
    import pyarrow as pa

    distinct: dict[bytes, Part] = {}
    for part in parts:
        distinct.setdefault(part.schema.serialize().to_pybytes(), part)
    firsts = list(distinct.values())
    fields: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for part in firsts:
        url = part.dataset.location.url
        _check_names(part)
        for one in part.schema:
            known = fields.get(one.name)
            if known is None:
                fields[one.name], owners[one.name] = pa.field(one.name, one.type), url
            elif known.type != one.type:
                kind = _join_types(known.type, one.type)
                if kind is None:
                    reason = f"column {one.name!r} is {one.type} here, and {known.type} there"
                    advice = "convert one of them, or leave the column out by columns="
                    other = owners[one.name]
                    raise SchemaError(url, other, f"{reason}; {advice}", column=one.name)
                fields[one.name] = pa.field(one.name, kind)
    for part in firsts:
        for name in part.dataset.untyped:
            # None of the files has a value.
            if name in fields and pa.types.is_null(fields[name].type):
                fields[name] = part.dataset.arrow_schema().field(name)
    if not request.fills:
        for part in firsts:
            if not part.is_bare:
                _check_has_all(part, owners)
    if request.columns is not None:
        asked = {*request.columns, *request.tested}
        fields = {name: one for name, one in fields.items() if name in asked}
    return pa.schema(list(fields.values()))


def _check_names(part: Part) -> None:
    """Raise `FormatError` for names that are not unique, with those of the file's folders."""
    names = part.schema.names
    url = part.dataset.location.url
    twice = repeated(names)
    if twice is not None:
        raise FormatError(url, f"two columns are called {twice!r}; give them names of their own")
    for key, value in part.keys:
        if key in names:
            reason = (
                f"it has a column {key!r}, and lies in a folder {key}={value}; rename one of them, "
                "or give a list of files, in which folders are not looked at"
            )
            raise FormatError(url, reason)


def _check_has_all(part: Part, owners: dict[str, str]) -> None:
    names = set(part.schema.names)
    for name, owner in owners.items():
        if name not in names:
            reason = (
                f"it has no column {name!r}, which the other has; pass columns= of those that all "
                "have, or missing_columns='null'"
            )
            raise SchemaError(part.dataset.location.url, owner, reason, column=name)


def _join_types(one: Any, other: Any) -> Any:
    """Return the smallest type that holds the values of two, or None."""
    import pyarrow as pa

    one, other = _values_of(one), _values_of(other)
    if one == other:
        return one
    is_decimal = [pa.types.is_decimal(kind) for kind in (one, other)]
    # A decimal becomes a float without a word about what that loses.
    if is_decimal[0] != is_decimal[1] and not (pa.types.is_null(one) or pa.types.is_null(other)):
        return None
    if _has_struct(one) or _has_struct(other):
        return one if pa.types.is_null(other) else other if pa.types.is_null(one) else None
    try:
        schemas = [pa.schema([pa.field("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _values_of(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _has_struct(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_union(kind):
        return True
    return any(_has_struct(kind.field(number).type) for number in range(kind.num_fields))
