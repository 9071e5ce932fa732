"""The forms of traces: columns, Arrow and Parquet, and what a run leaves that did not end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from freestone.errors import ConfigurationError
from freestone.observe.figures import WorkerStatus

if TYPE_CHECKING:
    from freestone.observe.columns import Column, Columns

__all__ = [
    "FIELDS",
    "PARTIAL",
    "batch",
    "batches",
    "lines",
    "parquet_writer",
    "pyarrow_for",
    "read_partial",
    "records_of",
    "schema",
]

PARTIAL = ".partial"
FIELDS: dict[str, type] = {
    "kind": str,
    "label": str,
    "name": str,
    "task": int,
    "attempt": int,
    "worker": str,
    "source": str,
    "target": str,
    "ready_ns": int,
    "sent_ns": int,
    "start_ns": int,
    "end_ns": int,
    "at_ns": int,
    "opening_ns": int,
    "duration_ns": int,
    "storing_ns": int,
    "nbytes": int,
    "executor": int,
    "resident_nbytes": int,
    "slots": int,
    "ended": str,
    "inputs": str,
    "outputs": str,
    **{field.name: int for field in fields(WorkerStatus)},
    "stack": str,
    "samples": int,
    "message": str,
    "traceback": str,
}
_REPEATED = ["kind", "label", "worker", "source", "target", "ended", "stack"]


def batch(pa: Any, rows: int, columns: Columns) -> Any:
    """Return records of a manager as a batch of Arrow, by `pyarrow`, without a copy."""
    arrays = [_array(pa, rows, columns.get(field), _kind(pa, field)) for field in FIELDS]
    return pa.RecordBatch.from_arrays(arrays, names=list(FIELDS))


def _array(pa: Any, rows: int, column: Column | None, kind: Any) -> Any:
    if column is None:
        return pa.nulls(rows, kind)
    buffers = [pa.py_buffer(part) for part in column if part is not None]
    return pa.Array.from_buffers(kind, rows, buffers)


def _kind(pa: Any, field: str) -> Any:
    return pa.string() if FIELDS[field] is str else pa.int64()


def schema(pa: Any) -> Any:
    """Return the columns of a trace as `pyarrow` declares them."""
    return pa.schema([(field, _kind(pa, field)) for field in FIELDS])


def parquet_writer(pa: Any, path: Path) -> Any:
    """Open a Parquet file for a trace, by `pyarrow`."""
    return pa.parquet.ParquetWriter(path, schema(pa), compression="zstd", use_dictionary=_REPEATED)


def pyarrow_for(path: Path) -> ModuleType:
    """Import pyarrow for the trace at a path, or raise `ConfigurationError`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        problem = (
            f"the trace {str(path)!r} needs pyarrow: install it, or let the name end in .jsonl"
        )
        raise ConfigurationError(problem, key="trace", origin="the trace's path") from None
    found: ModuleType = pyarrow
    return found


def read_partial(path: Path) -> list[dict[str, Any]]:
    """Read a journal as far as it was written: all but the last second before a crash."""
    with path.open("rb") as file:
        is_text = file.read(1) in (b"{", b"")
    if is_text:
        return list(lines(path))
    return [one for batch in batches(pyarrow_for(path), path) for one in records_of(batch)]


def records_of(columns: Any) -> list[dict[str, Any]]:
    """Return the records of a table or batch of Arrow, each with the fields that it has."""
    rows = columns.to_pylist()
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read records from lines of JSON; the last one may be cut off."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def batches(pa: Any, path: Path) -> Iterator[Any]:
    """Read batches of Arrow, by `pyarrow`, as far as they were written."""
    with path.open("rb") as file, pa.ipc.open_stream(file) as stream:
        while True:
            try:
                yield stream.read_next_batch()
            except (StopIteration, pa.ArrowInvalid, OSError):
                # Its end, or that of what was written before a crash.
                return
