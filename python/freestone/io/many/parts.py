"""What one of many files holds of what is asked for, found out by whoever is near."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.many.finding import Found, Keys
from freestone.io.many.keys import equalities
from freestone.io.many.predicates import could_hold, guarantee, missing_column
from freestone.io.many.request import Request
from freestone.io.open_once import kept_open
from freestone.io.opening import open_dataset
from freestone.io.stores.lustre import mounts_read_once

__all__ = ["Part", "describe", "narrowed"]

# Files of stores that are far away are asked about at once, so many; those of this machine one by
# one, since threads that parse footers and trees wait for one another.
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one file gives.

    Attributes
    ----------
    dataset : Dataset
        The file; of a frame with the columns that are needed, or one if none of its own is.
    keys : tuple of (str, str or None)
        Those of its folders.
    schema : pyarrow.Schema or None
        Its columns that are needed; None of an array.
    ranges : tuple of (int, int)
        Rows among which those that are wanted are.
    """

    dataset: Dataset
    keys: Keys
    schema: Any
    ranges: tuple[tuple[int, int], ...]

    @property
    def is_bare(self) -> bool:
        """Whether it has neither rows nor columns, as JSON lines of no rows: it goes with all."""
        return _is_bare(self.dataset)


def _is_bare(dataset: Dataset) -> bool:
    return not dataset.rows and not dataset.columns


def describe(files: Sequence[Found], request: Request) -> list[Part]:
    """Look at some files, several at once if they are far, and let go of each before the next one.

    Equal schemas and columns are one object, so that they are sent once.
    """
    is_far = any("://" in found.url for found in files)
    at_once = min(AT_ONCE, len(files)) if is_far else 1
    if at_once < 2:
        with mounts_read_once():
            parts = [_describe(found, request) for found in files]
    else:
        with ThreadPoolExecutor(at_once) as pool:
            parts = list(pool.map(lambda found: _describe(found, request), files))
    return _shared(parts)


def narrowed(part: Part, request: Request) -> Part:
    """Return what a file gives of what is asked for, once it was looked at for more."""
    return _part(part.dataset, part.keys, part.schema, request)


def _describe(found: Found, request: Request) -> Part:
    with kept_open():
        options = request.options
        dataset = open_dataset(
            found.url,
            format=request.format,
            matrix=False,
            wanted_columns=request.names,
            **options,
        )
        return _part(dataset, found.keys, None, request)


def _part(dataset: Dataset, keys: Keys, schema: Any, request: Request) -> Part:
    """Return what a file gives; `schema` is that of all of its columns, if that is known."""
    url = dataset.location.url
    if dataset.kind != "frame":
        if request.columns is not None or request.where is not None or keys:
            asked = "folders called key=value give" if keys else "columns= and where= are for"
            raise UsageError(
                f"{url} holds an array, which has no names of columns; {asked} columns of a "
                "frame: read it with kind='frame', if its format has frames"
            )
        return Part(dataset=dataset, keys=(), schema=None, ranges=((0, dataset.rows),))
    wanted = None if _is_bare(dataset) else _wanted(url, dataset.columns, request)
    if wanted is not None:
        # Without a column nobody would know how many rows there are.
        dataset = dataset.select(wanted or dataset.columns[:1])
    schema = dataset.arrow_schema() if schema is None else schema
    if wanted is not None and len(schema) > len(wanted):
        import pyarrow as pa

        schema = pa.schema([schema.field(name) for name in wanted])
    ranges = _ranges(dataset, keys, schema, request)
    for name in dataset.untyped:
        schema = _without_type(schema, name)
    return Part(dataset=dataset, keys=keys, schema=schema, ranges=ranges)


def _without_type(schema: Any, name: str) -> Any:
    """Return a schema in which a column is of nulls, which go with all types."""
    import pyarrow as pa

    place = schema.get_field_index(name)
    return schema if place < 0 else schema.set(place, pa.field(name, pa.null()))


def _wanted(url: str, names: Sequence[str], request: Request) -> tuple[str, ...] | None:
    """Return the columns of a file that are needed, in its order; None for all."""
    if request.columns is None:
        return None
    known = {*names, *request.key_types}
    for name in (*request.columns, *request.tested):
        if name not in known and not request.fills:
            every = [*names, *request.key_types]
            raise missing_column(name, url, every, "columns= or where=")
    return _chosen(tuple(names), frozenset((*request.columns, *request.tested)))


@functools.lru_cache(maxsize=64)
def _chosen(names: tuple[str, ...], asked: frozenset[str]) -> tuple[str, ...]:
    """Return the names that are asked for: for files that are alike the same object."""
    return tuple(name for name in names if name in asked)


def _ranges(
    dataset: Dataset, keys: Keys, schema: Any, request: Request
) -> tuple[tuple[int, int], ...]:
    """Return the rows of a file among which those are that a predicate wants."""
    everything = ((0, dataset.rows),) if dataset.rows else ()
    if request.where is None or not request.tested:
        return everything
    bounds = dataset.bounds(request.tested)
    names = set(schema.names)
    if not bounds or any(
        one not in names and one not in request.key_types for one in request.tested
    ):
        return everything
    import pyarrow as pa

    fixed = equalities(keys, request.key_types)
    for name, kind in request.key_types.items():
        schema = schema.append(pa.field(name, kind))
    floats = [one.name for one in schema if pa.types.is_floating(one.type)]
    known = [guarantee({**fixed, **each.ranges}, request.where, floats) for each in bounds]
    left: list[tuple[int, int]] = []
    for each, holds in zip(bounds, could_hold(request.where, schema, known), strict=True):
        if holds and left and left[-1][1] == each.start:
            left[-1] = (left[-1][0], each.stop)
        elif holds:
            left.append((each.start, each.stop))
    return tuple(left)


def _shared(parts: list[Part]) -> list[Part]:
    schemas: dict[bytes, Any] = {}
    # Formats give one schema for files that are alike.
    known: dict[int, Any] = {}
    columns: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    found = []
    for part in parts:
        names = columns.setdefault(part.dataset.columns, part.dataset.columns)
        if part.schema is not None and id(part.schema) not in known:
            text = part.schema.serialize().to_pybytes()
            known[id(part.schema)] = schemas.setdefault(text, part.schema)
        schema = None if part.schema is None else known[id(part.schema)]
        dataset = part.dataset
        if names is not dataset.columns:
            dataset = replace(dataset, columns=names)
        if dataset is not part.dataset or schema is not part.schema:
            part = replace(part, dataset=dataset, schema=schema)
        found.append(part)
    return found
