"""Blocks are written with their buffers, so these hold the rows of the block and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import freestone as fs
from freestone.collections.compacting import compacted

ROWS = 100_000
TEXTS = [f"a text that is no part of its view, {row % 1000}" for row in range(ROWS)]
TABLE = pa.table({"a": np.arange(ROWS), "b": pa.array(TEXTS, pa.large_string())})


def nbytes_of(frame: fs.Frame) -> int:
    """Return the bytes of all blocks."""
    return int(frame._block_nbytes().sum())


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string(), pa.string_view()])
def test_blocks_of_a_table_have_its_bytes_once(cluster: fs.Cluster, kind: pa.DataType) -> None:
    table = TABLE.set_column(1, "b", TABLE["b"].cast(kind))
    frame = fs.Frame.from_arrow(table, ROWS // 10)
    assert table.nbytes <= nbytes_of(frame) < 1.1 * table.nbytes
    assert frame.to_arrow() == table


def test_slices_that_functions_return_are_written_alone(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_arrow(TABLE, ROWS // 2).map_blocks(lambda table: table.slice(100, 1000))
    assert nbytes_of(frame) < TABLE.nbytes // 10
    assert len(frame) == 2000


def test_frames_of_polars_have_their_bytes_once(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"a": range(ROWS), "b": TEXTS}), ROWS // 4)
    assert nbytes_of(frame) < 1.1 * TABLE.nbytes
    assert frame.to_polars()["b"].to_list() == TEXTS


def test_whole_tables_are_not_copied() -> None:
    assert compacted(TABLE) is TABLE


def test_slices_keep_nulls_categories_and_metadata() -> None:
    table = pa.table(
        {
            "n": pa.array([None, 1, None, 4] * 1000),
            "c": pa.array(["x", None, "y", "x"] * 1000).dictionary_encode(),
            "l": pa.array([[1], [], None, [2, 3]] * 1000),
        },
        metadata={"made": "here"},
    )
    slice_ = table.slice(101, 501)
    found = compacted(slice_)
    assert found is not slice_
    assert found.equals(slice_, check_metadata=True)


def test_types_without_a_form_in_files_stay_slices() -> None:
    storage = pa.array(["x", "y"] * 4000)
    kind = pa.dictionary(pa.int32(), pa.uuid())
    values = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16)))
    codes = pa.DictionaryArray.from_arrays(pa.array([0] * 8000, pa.int32()), values)
    assert codes.type == kind
    slice_ = pa.table({"a": storage, "b": codes}).slice(0, 100)
    assert compacted(slice_).equals(slice_)
