"""Frames of scripts whose rows lie in blocks of a cluster: relational steps, by polars and DuckDB.

Rows come in the order that the same operation gives them in the script's process. What is not
computed by parts here is computed there, from rows that are fetched once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.collections import Frame
from freestone.collections.blocking import offsets_of
from freestone.collections.querying import sql
from freestone.collections.rows import concatenate
from freestone.errors import FreestoneError
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.queries import divides, translated
from freestone.lang.front.types.types import DTYPES, Type
from freestone.lang.run.distributed.split import Split, as_dense
from freestone.lang.run.kernels import shapes
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.files import framed, written
from freestone.lang.run.kernels.sql import arrow_of, filled

if TYPE_CHECKING:
    from freestone.lang.run.distributed.running import DistributedRun

__all__ = ["STEPS", "Schema", "SplitFrame", "frame_of", "have_polars", "type_of"]

Schema = tuple[tuple[str, str], ...]
Found = Sequence[Any] | None


class SplitFrame:
    """A frame whose rows lie in blocks of a cluster; the blocks go when nobody refers to it.

    Parameters
    ----------
    frame : freestone.Frame
        Its rows, without nulls, in columns that are called as the labels.
    schema : tuple of (str, str)
        The label and the type of the cells of each column.
    """

    def __init__(self, frame: Frame, schema: Schema) -> None:
        self.frame = frame
        self.schema = schema
        self._here: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.frame), len(self.schema)

    def fetched(self) -> Any:
        """Return all rows, here; they are fetched once."""
        if self._here is None:
            self._here = framed(self.frame.name, self.frame.to_arrow(), type_of(self.schema))
        return self._here


def have_polars() -> bool:
    """Tell whether workers can do relational steps."""
    return importlib.util.find_spec("polars") is not None


def frame_of(
    blocks: Sequence[Any], offsets: Sequence[int], name: str, schema: Schema
) -> SplitFrame:
    """Make a frame of tables that workers make."""
    return SplitFrame(Frame(blocks, np.array(offsets, np.int64), name=name), schema)


def type_of(schema: Schema) -> Type:
    """Return the type of a frame."""
    return Type("frame", "", None, len(schema), schema)


def _made(op: Op, frame: Frame) -> list[Any]:
    """Return the result of an operation, once its blocks are made."""
    return [SplitFrame(frame.persist(), op.results[0].type.schema or ())]


# -- SQL --------------------------------------------------------------------------------------


def _register(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    run.views[op.attrs["view"]] = operands[0]
    return [None]


def _sql(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    views = run.views | dict(zip(op.attrs.get("given", ()), operands, strict=True))
    schema = op.results[0].type.schema or ()
    try:
        frames = {name: _framed(run, view) for name, view in views.items()}
        found = (
            None
            if divides(op.attrs["query"])
            else sql(translated(op.attrs["query"]), None, **frames)
        )
    except FreestoneError:
        # Of two columns DuckDB may make one name; with all rows here their places are enough.
        found = None
    if found is None:
        run.views = {name: _here(value) for name, value in run.views.items()}
        operands[:] = map(_here, operands)
        return None
    return _made(op, found.map_blocks(as_cells, schema, name="sql"))


def _framed(run: DistributedRun, value: Any) -> Frame:
    if isinstance(value, SplitFrame):
        return value.frame
    table = arrow_of(value)
    return Frame([run.client.put(table)], offsets_of([table.num_rows]), name="frame")


def _here(value: Any) -> Any:
    return value.fetched() if isinstance(value, SplitFrame) else value


def as_cells(table: Any, schema: Schema) -> Any:
    """Give the columns of a result the types of a frame's cells, on a worker."""
    from freestone.lang.run.kernels.frames import Frame as Cells

    columns = []
    for column, (_, cell) in zip(table.columns, schema, strict=True):
        values = _values(column)
        with np.errstate(invalid="ignore"):
            columns.append(filled(values, cell).astype(DTYPES[cell]))
    return arrow_of(Cells(columns, [label for label, _ in schema], [cell for _, cell in schema]))


def _values(column: Any) -> Any:
    """Return a column as DuckDB gives it to NumPy: decimals as reals, nulls as a mask."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    missing = column.is_null().to_numpy(zero_copy_only=False)
    values = column.to_numpy()
    return np.ma.masked_array(values, missing) if missing.any() else values


# -- relational steps -------------------------------------------------------------------------


def _inner_join(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    left, right = operands
    (label, cell), (other, kind) = (
        _schema(value)[at] for value, at in zip(operands, op.attrs["on"], strict=True)
    )
    if cell != kind:
        return None
    on = {"left_on": label, "right_on": other, "how": "inner", "coalesce": False}
    return _made(
        op, _framed(run, left).join(_framed(run, right), maintain_order="left_right", **on)
    )


def _schema(value: Any) -> Schema:
    if isinstance(value, SplitFrame):
        return value.schema
    return tuple(zip(value.labels, value.cells, strict=True))


def _group_sum(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    import polars as pl

    (value,) = operands
    *keys, (summed, _) = (value.schema[at] for at in op.attrs["places"])
    if any(cell in ("f32", "f64") for _, cell in keys):
        # NaNs are groups of their own there, and one group to polars.
        return None
    labels = [label for label, _ in keys]
    result, cell = (op.results[0].type.schema or ())[-1]
    total = pl.col(summed).sum().alias(result)
    groups = value.frame.group_by(*labels).agg(total).sort(*labels)
    kind = pl.DataFrame({"": np.empty(0, DTYPES[cell])}).dtypes[0]
    return _made(op, groups.with_columns(pl.col(result).cast(kind, wrap_numerical=True)))


def _order(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, *rest = operands
    if op.attrs["indexes"]:
        return None
    half = len(rest) // 2
    places = [shapes.position(at, len(value.schema), "column") for at in rest[:half]]
    labels = [value.schema[at][0] for at in places]
    descending = [not ascending for ascending in rest[half:]]
    return _made(op, value.frame.sort(*labels, descending=descending, maintain_order=True))


# -- parts and labels -------------------------------------------------------------------------


def _shape(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    return [shapes.shape(run, op, operands[0])]


def _index(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, *sides = operands
    if not isinstance(value, SplitFrame) or any(map(_is_split, sides)):
        return None
    rows, columns = shapes.sides_of(op, value.shape, tuple(sides))
    if not isinstance(rows, slice):
        return None
    labels = np.array([label for label, _ in value.schema], object)[columns].tolist()
    if not labels or len(set(labels)) < len(labels):
        return None
    frame = value.frame.select(*labels)
    if op.attrs["kinds"][0] != "all":
        start, stop, _ = rows.indices(value.shape[0])
        frame = frame.slice(start, stop - start)
    schema = tuple((label, dict(value.schema)[label]) for label in labels)
    return [SplitFrame(frame.persist(), schema)]


def _filter(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, bits = operands
    if not isinstance(value, SplitFrame):
        return None
    frame, ends = value.frame, tuple(value.frame.offsets.tolist())
    if isinstance(bits, Split) and bits.offsets == ends and bits.columns == 1:
        pieces: list[Any] = bits.blocks
    else:
        whole = as_dense(bits.fetched() if _is_split(bits) else bits)
        if whole.shape != (ends[-1], 1):
            return None
        pieces = [whole[a:b] for a, b in pairwise(ends)]
    number = run.client.define(kept_rows, "filter_rows")
    pairs = zip(frame.blocks, pieces, strict=True)
    blocks = [run.client.call(number, pair, {"near": "input"}, 1) for pair in pairs]
    return _made(op, Frame(blocks, None, name=frame.name))


def kept_rows(table: Any, bits: Any) -> _native.blocks.Stored:
    """Keep the rows of a table whose bit is set, on a worker."""
    return _native.blocks.Stored(table.filter(as_dense(bits)[:, 0] != 0))


def _relabel(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    (value,) = operands
    labels = [label for label, _ in op.results[0].type.schema or ()]
    pairs = zip(value.schema, labels, strict=True)
    return _made(op, value.frame.rename({label: new for (label, _), new in pairs if label != new}))


def _to_matrix(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    (value,) = operands
    cell, frame = op.results[0].type.cell, value.frame
    if cell == "str" or not len(frame):
        return None
    kept = [place for place, (a, b) in enumerate(pairwise(frame.offsets)) if a < b]
    number = run.client.define(cells_of, "as.matrix")
    blocks = [
        run.client.call(number, (frame.blocks[at], value.schema, cell), {"near": "input"}, 1)
        for at in kept
    ]
    offsets = (0, *(int(frame.offsets[at + 1]) for at in kept))
    return [run.split(blocks, offsets, len(value.schema), cell)]


def cells_of(table: Any, schema: Schema, cell: str) -> _native.blocks.Stored:
    """Convert all columns to one type, on a worker."""
    matrix = framed("a frame", concatenate([table]), type_of(schema)).matrix(cell)
    return _native.blocks.Stored(converted(matrix, cell))


def _write(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, path = operands
    written(value.frame, path)
    return [None]


def _is_split(value: Any) -> bool:
    return isinstance(value, Split | SplitFrame) or hasattr(value, "fetched")


STEPS: dict[str, Callable[[DistributedRun, Op, list[Any]], Found]] = {
    "register_view": _register,
    "sql": _sql,
    "inner_join": _inner_join,
    "group_sum": _group_sum,
    "order": _order,
    "shape": _shape,
    "index": _index,
    "filter_rows": _filter,
    "relabel": _relabel,
    "frame_to_matrix": _to_matrix,
    "write": _write,
}
"""What is done to frames in blocks, by the kind of operation."""
