"""Collections from Dask's, and back: blocks are handed over where they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from freestone.client import current, gather, scheduler_of
from freestone.client.future import Future
from freestone.collections.categories import cast, categories_of, digests_of
from freestone.collections.held import Held, held_in, node_of
from freestone.collections.making import Spec, map_block
from freestone.collections.pieces import future_of
from freestone.collections.rows import as_pandas
from freestone.units import is_unknown

if TYPE_CHECKING:
    from freestone.collections.array import Array
    from freestone.collections.base import Collection
    from freestone.collections.frame import Frame

__all__ = [
    "are_held",
    "array_blocks",
    "blocks_of",
    "check_kind",
    "collection_of",
    "converted",
    "cut_by_rows",
    "held_blocks",
    "to_array",
    "to_bag",
    "to_frame",
]


C = TypeVar("C", bound="Collection")
T = TypeVar("T")


# -- from Dask's ------------------------------------------------------------------------------


def held_blocks(collection: Any) -> list[Any] | None:
    """Return the blocks of a persisted Dask collection in order; None if it is not persisted."""
    from dask.core import flatten

    graph = dict(collection.__dask_graph__())
    found = []
    for key in flatten(collection.__dask_keys__()):
        piece = held_in(_behind_aliases(graph, key))
        if piece is None:
            return None
        found.append(piece)
    return found


def _behind_aliases(graph: dict[Any, Any], key: Any) -> Any:
    seen: set[Any] = set()
    node = graph.get(key)
    while key not in seen:
        seen.add(key)
        # An alias is a node of its own, or, as in Dask's dataframes, nothing but the other key.
        target = getattr(node, "target", node)
        if not _is_key(target) or target not in graph:
            break
        key, node = target, graph[target]
    return node


def _is_key(thing: Any) -> bool:
    """Tell whether what stands in a graph is a key, and not an old-style task."""
    is_task = isinstance(thing, tuple) and bool(thing) and callable(thing[0])
    return isinstance(thing, tuple | str) and not is_task


def check_kind(x: Any, cls: type[Collection]) -> None:
    """Raise `TypeError` for what is no collection of Dask's, or of another kind than ours.

    Arrays have chunks, and a `_meta`, which the arrays of xarray lack; frames have no chunks.
    """
    wanted = {"array": "dask.array", "frame": "dask.dataframe"}.get(
        cls.kind, "collection of Dask's"
    )
    is_array = hasattr(x, "chunks") and hasattr(x, "_meta")
    if is_array and cls.kind == "array" and not x.ndim:
        raise TypeError("an Array has rows, and this has no dimension: compute() has its value")
    if hasattr(x, "__dask_graph__") and (cls.kind == "bag" or is_array == (cls.kind == "array")):
        return
    found = f"{cls.__name__}.from_dask() takes a {wanted}, not what is of type {type(x).__name__}"
    raise TypeError(f"{found}{_instead(x, is_array)}")


def _instead(x: Any, is_array: bool) -> str:
    if is_array:
        return "; Array.from_dask() takes that"
    if hasattr(x, "__dask_graph__") and hasattr(getattr(x, "data", None), "_meta"):
        return "; its data is a dask.array"
    return ""


def blocks_of(collection: Any) -> list[Any]:
    """Return the blocks of a Dask collection: those that the cluster holds, or will then.

    Notes
    -----
    What several of them need, such as a mean that is taken away from each, is computed once.
    Without an open cluster they are values, computed by Dask's own scheduler.
    """
    import dask

    held = held_blocks(collection)
    if held is not None:
        return held
    client = current()
    if client is None:
        blocks = np.ravel(np.asarray(collection.to_delayed(), dtype=object))
        return list(dask.compute(*blocks))
    (persisted,) = dask.persist(collection, scheduler=scheduler_of(client))
    return held_blocks(persisted) or []


def are_held(blocks: Sequence[Any]) -> bool:
    """Tell whether blocks are in a cluster, and not here."""
    return any(isinstance(future_of(block), Future) for block in blocks)


def cut_by_rows(array: Any) -> Any:
    """Join the blocks of a Dask array that are side by side."""
    beside = [axis for axis in range(1, array.ndim) if len(array.chunks[axis]) > 1]
    return array.rechunk(dict.fromkeys(beside, -1)) if beside else array


def array_blocks(array: Any, name: str) -> tuple[list[Any], list[int] | None]:
    """Return the row blocks of a Dask array, and how many rows each has, if that is known.

    Notes
    -----
    Blocks side by side are joined, on the workers. Blocks that are not NumPy's own arrays are
    checked and converted, where they are.
    """
    array = cut_by_rows(array)
    blocks = blocks_of(array)
    if type(array._meta) is not np.ndarray:
        blocks = converted(blocks, Spec(collection=name, kind="array"))
    rows = array.chunks[0]
    return blocks, None if is_unknown(*rows) else [*map(int, rows)]


def collection_of(kind: type[C], blocks: Sequence[Any], name: str) -> C:
    """Make a collection of blocks that are held, or are values here which nobody else has."""
    if are_held(blocks):
        return kind(blocks, None, name=name)
    return kind._from_own(blocks, name=name)


def converted(blocks: Sequence[Any], spec: Spec) -> list[Any]:
    """Return blocks in the form in which collections keep them: a call for each, where it is."""
    function = functools.partial(map_block, spec, _same)
    calls = [(index, None, block) for index, block in enumerate(blocks)]
    client = next((f.client for f in map(future_of, blocks) if isinstance(f, Future)), None)
    if client is None:
        return [function(*call).value for call in calls]
    return client.map(function, calls, {"name": spec.collection, "near": "input"})


def _same(block: Any) -> Any:
    return block


# -- to Dask's --------------------------------------------------------------------------------


def to_array(array: Array) -> Any:
    """Return a ``dask.array`` whose chunks are the blocks, where they are."""
    import dask.array as da

    rest = array.shape[1:]
    name, graph = _graph("array", array.blocks, (0,) * len(rest))
    chunks = (tuple(np.diff(array.offsets).tolist()), *((side,) for side in rest))
    return da.Array(graph, name, chunks, dtype=array.dtype, meta=_meta_of(array))


def _meta_of(array: Array) -> Any:
    if array.blocks and array._first().sparse:
        import scipy.sparse

        return scipy.sparse.csr_matrix((0, 0), dtype=array.dtype)
    return np.empty((0,) * array.ndim, array.dtype)


def to_frame(frame: Frame) -> Any:
    """Return a ``dask.dataframe`` whose partitions are the blocks, as tables of pandas'."""
    import dask.dataframe as dd
    from dask._task_spec import Task, TaskRef

    name, graph = _graph("frame", frame.blocks)
    # Of the aliases that from_delayed() makes nothing is left where a frame becomes an array.
    convert = functools.partial(_to_pandas, frame.schema)
    tables = [Task((f"{name}-pandas", at), convert, TaskRef(key)) for at, key in enumerate(graph)]
    keys = [table.key for table in tables]
    layer = graph | dict(zip(keys, tables, strict=True))
    meta = _with_categories(convert(frame.schema.empty_table()), frame)
    return _with_texts(dd.from_graph(layer, meta, (None,) * (len(keys) + 1), keys, "freestone"))


def _with_categories(meta: Any, frame: Frame) -> Any:
    """Give a frame without rows the categories that all blocks have, or unknown ones.

    Dask believes what it finds there, and the schema of a block has no categories.
    """
    import pyarrow as pa
    from dask.dataframe.utils import clear_known_categories

    meta = clear_known_categories(meta)
    fields = [field for field in frame.schema if pa.types.is_dictionary(field.type)]
    if not fields or not frame.blocks:
        return meta
    schema = pa.schema(fields)
    first, *others = _asked(frame, functools.partial(_digests, schema), frame.blocks)
    (known,) = _asked(frame, functools.partial(_categories, schema), frame.blocks[:1])
    for name in meta.columns.intersection([*known]):
        if all(each[name] == first[name] for each in others):
            meta[name] = meta[name].cat.set_categories(known[name])
    return meta


def _asked(frame: Frame, function: Callable[[Any], T], blocks: Sequence[Any]) -> list[T]:
    client = frame.client
    return [*map(function, blocks)] if client is None else gather(client.map(function, zip(blocks)))


def _digests(schema: Any, table: Any) -> dict[str, bytes]:
    return digests_of(_to_pandas(schema, table))


def _categories(schema: Any, table: Any) -> dict[str, Any]:
    return categories_of(_to_pandas(schema, table))


def _with_texts(frame: Any) -> Any:
    """Have Arrow's texts in place of objects, as Dask's own frames do if they are so configured."""
    from dask.dataframe.dask_expr import new_collection
    from dask.dataframe.dask_expr._expr import ArrowStringConversion
    from dask.dataframe.utils import pyarrow_strings_enabled
    from pandas.api.types import is_object_dtype

    has_objects = any(map(is_object_dtype, frame.dtypes))
    if not (has_objects and pyarrow_strings_enabled()):
        return frame
    return new_collection(ArrowStringConversion(frame.expr))


def to_bag(bag: Collection) -> Any:
    """Return a ``dask.bag`` whose partitions are the blocks, where they are."""
    import dask.bag as db

    name, graph = _graph("bag", bag.blocks)
    return db.Bag(graph, name, len(graph))


def _graph(kind: str, blocks: Sequence[Any], rest: tuple[int, ...] = ()) -> tuple[str, Any]:
    """Return the name of the blocks in a graph, and the graph."""
    from dask.tokenize import tokenize

    name = f"freestone-{kind}-{tokenize([Held(block) for block in blocks])}"
    keys = [(name, number, *rest) for number in range(len(blocks))]
    return name, {key: node_of(key, block) for key, block in zip(keys, blocks, strict=True)}


def _to_pandas(schema: Any, table: Any) -> Any:
    """Return a block as a frame of pandas with the columns of all blocks, in their types.

    Those of a block without values, and categories, are often of narrower ones.
    """
    if table.schema.names != schema.names:
        table = table.select(schema.names)
    wanted = dict(zip(schema.names, schema.types, strict=True))
    mixed = [each for each in table.schema if _may_differ(each.type)]
    return as_pandas(cast(table, {field.name: wanted[field.name] for field in mixed}))


def _may_differ(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_null(kind) or pa.types.is_dictionary(kind))
