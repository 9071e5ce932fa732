"""Which rows are wanted: a predicate, what it needs, and where it can't be true.

A predicate is a `pyarrow.compute` expression, or what pyarrow calls filters: tuples of column,
operator and value that all have to be true, or lists of such tuples of which one has to. Filters
become an expression when the types of the columns are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from freestone.errors import MissingColumnError, UsageError
from freestone.io.formats.tables import first_line, needs
from freestone.io.many.filters import Filters, as_filters

__all__ = [
    "as_expression",
    "as_predicate",
    "columns_of",
    "could_hold",
    "filtered",
    "guarantee",
    "may_name",
    "missing_column",
    "without_views",
]

# All comparisons but != are false of NaN, and so is `is_in`; joined by `and` and `or` they stay so.
_UNLIKE_COMPARISONS = re.compile(r"(?<!\w)(?!(?:and|or|is_in|is_valid)\b)\w+\(|!=|\bnan\b")
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"')


def as_predicate(where: Any) -> Any:
    """Return what is wanted as an expression of pyarrow, or as filters; None of None.

    Raises
    ------
    UsageError
        When it is neither.
    """
    if where is None:
        return None
    pc = needs("pyarrow.compute", "arrow", "where=")
    if isinstance(where, pc.Expression):
        return where
    if type(where).__module__.partition(".")[0] == "polars":
        raise UsageError(
            "where= takes no expression of polars: call filter() on what is read, which reads as "
            "few rows, as in fs.read(url).filter(pl.col('x') > 0)"
        )
    try:
        return as_filters(where)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"where={where!r} is no predicate ({error}); write [('x', '>', 0), ('y', '==', 'a')], "
            "or (pyarrow.compute.field('x') > 0) & (pyarrow.compute.field('y') == 'a')"
        ) from error


def as_expression(predicate: Any, schema: Any) -> Any:
    """Return a predicate as an expression of pyarrow for columns of these types."""
    return predicate.bound(schema) if isinstance(predicate, Filters) else predicate


def columns_of(where: Any, schema: Any, file: str) -> tuple[str, ...]:
    """Return the names of the columns that a predicate needs.

    Raises
    ------
    MissingColumnError
        When the schema has not all of them.
    UsageError
        When they are of types that it can't be asked of.

    Notes
    -----
    Arrow does not tell what an expression needs, but refuses a table that lacks it: the columns are
    found by bisection, by about `k log n` tries on tables without rows. Those whose names stand in
    the expression are most often all of them.
    """
    import pyarrow as pa

    text = str(where)
    named = pa.schema([field for field in schema if field.name in text])
    try:
        _try(where, named)
        schema = named
    except (LookupError, TypeError):
        pass
    try:
        _try(where, schema)
    except LookupError as error:
        raise missing_column(error.args[0], file, schema.names, "where=") from None
    except TypeError as error:
        raise UsageError(f"where={where}: {error}{_types_in(where, schema)}") from None
    found: list[str] = []
    _bisect(where, schema, list(dict.fromkeys(schema.names)), found)
    return tuple(found)


def _types_in(where: Any, schema: Any) -> str:
    """Say of which types the columns are whose names stand in a predicate."""
    shown = [f"{each.name!r} is {each.type}" for each in schema if may_name(where, each.name)]
    hint = "compare it with values of that type, or filter what is read"
    return f"; {', '.join(shown)}: {hint}" if shown else ""


def may_name(predicate: Any, column: str) -> bool:
    """Tell whether a predicate may need a column: its name stands in it."""
    if isinstance(predicate, Filters):
        return predicate.name(column)
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", str(predicate)) is not None


def missing_column(
    column: str, file: str, known: Sequence[str], asked_by: str
) -> MissingColumnError:
    """Return the error for a column that a file does not have."""
    reason = f'{file} has no column "{column}", which {asked_by} asks for'
    return MissingColumnError("read", reason=reason, columns=known)


def _bisect(where: Any, schema: Any, names: list[str], found: list[str]) -> None:
    """Collect those of `names` without which a predicate can't be asked."""
    import pyarrow as pa

    left_out = set(names)
    rest = pa.schema([field for field in schema if field.name not in left_out])
    try:
        _try(where, rest)
    except LookupError:
        if len(names) == 1:
            found.append(names[0])
            return
        middle = len(names) // 2
        _bisect(where, schema, names[:middle], found)
        _bisect(where, schema, names[middle:], found)


def _try(where: Any, schema: Any) -> None:
    """Ask a predicate of a table without rows.

    Raises
    ------
    LookupError
        With the column, when there is none of its name.
    TypeError
        With what Arrow says, when the types don't fit.
    """
    import pyarrow as pa

    try:
        without_views(schema).empty_table().filter(where)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        missing = re.match(r"No match for FieldRef\.Name\((.*?)\) in", str(error), re.DOTALL)
        if missing is not None:
            raise LookupError(missing[1]) from None
        raise TypeError(first_line(error)) from None


def filtered(table: Any, where: Any) -> Any:
    """Return the rows of a table for which a predicate is true."""
    if where is None:
        return table
    schema = table.schema
    plain = without_views(schema)
    with _values_named(where, schema):
        if plain is schema:
            return table.filter(where)
        return table.cast(plain).filter(where).cast(schema)


@contextmanager
def _values_named(where: Any, schema: Any) -> Iterator[None]:
    """Say of values that don't go together of which predicate and columns they are."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(f"where={where}: {first_line(error)}{_types_in(where, schema)}") from None


def without_views(schema: Any) -> Any:
    """Return the schema with texts and bytes as Arrow's functions take them: they know no views."""
    import pyarrow as pa

    if not any("_view" in str(field.type) for field in schema):
        return schema
    fields = [field.with_type(_without_view(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _without_view(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_dictionary(kind):
        values = _without_view(kind.value_type)
        return pa.dictionary(kind.index_type, values, kind.ordered)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_without_view(field.type)) for field in kind])
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return kind
    inner = kind.value_field.with_type(_without_view(kind.value_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(inner, kind.list_size)
    return pa.list_(inner) if types.is_list(kind) else pa.large_list(inner)


def could_hold(where: Any, schema: Any, guarantees: Sequence[Any]) -> list[bool]:
    """Tell of each guarantee, which holds for all of some rows, whether a predicate could be true.

    Notes
    -----
    That is what Arrow finds out of a file's partition; the files here are none.
    """
    if where is None:
        return [True] * len(guarantees)
    ds = needs("pyarrow.dataset", "arrow", "where=")
    system = needs("pyarrow.fs", "arrow", "where=").LocalFileSystem()
    layout = ds.IpcFileFormat()
    fragments = [
        layout.make_fragment(str(number), filesystem=system, partition_expression=each)
        for number, each in enumerate(guarantees)
    ]
    schema = without_views(schema)
    found = ds.FileSystemDataset(fragments, schema, layout, system)
    with _values_named(where, schema):
        left = {int(fragment.path) for fragment in found.get_fragments(filter=where)}
    return [number in left for number in range(len(guarantees))]


def guarantee(
    ranges: Mapping[str, tuple[Any, Any, bool]], where: Any = None, floats: Iterable[str] = ()
) -> Any:
    """Return what holds for all of some rows.

    Parameters
    ----------
    ranges
        For each column, as scalars of Arrow, its smallest and its largest value, and whether values
        may be missing; smallest and largest are None where all are missing.
    where
        The predicate that it is for.
    floats
        Columns in which NaN may be, which is in no range. They are left out where the predicate
        could be true of it.
    """
    pc = needs("pyarrow.compute", "arrow", "where=")
    unsafe = set(floats) if where is None or _is_true_of_nan(str(where)) else set()
    found = pc.scalar(True)
    for name, (low, high, has_missing) in ranges.items():
        if name in unsafe:
            continue
        field = pc.field(name)
        if low is None:
            one = field.is_null()
        else:
            one = field == low if low.equals(high) else (field >= low) & (field <= high)
            one = (one | field.is_null()) if has_missing else one
        found = one if found.equals(pc.scalar(True)) else found & one
    return found


def _is_true_of_nan(shown: str) -> bool:
    """Tell whether a predicate, as Arrow prints it, could be true where a column is NaN."""
    return _UNLIKE_COMPARISONS.search(_TEXT.sub("", shown)) is not None
