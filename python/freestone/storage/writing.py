"""Collections into files.

See docs/decisions/025-parts-of-a-file-exchange-their-sizes-before-offsets.md
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from freestone.client import Client, gather
from freestone.collections.array import Array
from freestone.collections.base import Collection, with_blocks
from freestone.collections.frame import Frame
from freestone.collections.protocols import ArrayMethods
from freestone.collections.rows import concatenate, is_sparse, is_table
from freestone.errors import EmptyCollectionError, UsageError
from freestone.io import Shape, StreamWriter, Writer, open_writer
from freestone.io.contract import encoded, head_of, sizes_of
from freestone.io.folders import drafted_folder
from freestone.io.formats import format_of
from freestone.io.formats.csv_writing import CsvWriter
from freestone.io.formats.mtx_writing import MtxWriter
from freestone.io.formats.root import histograms_of
from freestone.io.formats.tables import by_library
from freestone.io.formats.zarr import FolderWriter
from freestone.io.segment_writer import SegmentWriter
from freestone.io.stores import Draft, locate
from freestone.io.telling import telling
from freestone.storage.drafting import Layout, drafted, place_pieces, write_beside
from freestone.storage.meters import Meter, metered, written
from freestone.storage.partitioning import check_values, keys_among, parts_of, without_drafts
from freestone.storage.segmenting import write_segments
from freestone.storage.spreading import write_there
from freestone.storage.symmetry import entries_of_half
from freestone.storage.zarr import write_chunks

__all__ = ["shape_of", "write"]


def write(
    x: Any,
    url: str | os.PathLike[str],
    *,
    format: str | None = None,
    progress: bool | None = None,
    partition_by: str | Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Write an array or a frame into one file, each block by the worker that has it.

    Parameters
    ----------
    x
        An `Array`, an expression of arrays or a `Frame`; or an array, a sparse matrix, a table or a
        frame of pandas or polars that is here. Into ROOT also a histogram of boost-histogram or
        hist, or a dict of them by name.
    url
        A path, or a URL such as ``hdfs://host:port/path``. A path has to lead to the same file
        on every worker.
    format
        One of ``freestone.io.formats.FORMATS``; by default what the name says.
    progress
        Whether to show a bar with bytes a second when it takes longer than a second; by default if
        standard error is a terminal.
    partition_by
        Columns of a frame, of integers, dates or texts, for a folder instead of a file: it has
        folders ``key=value`` in it, as `read` takes them, and in these a file of each block that
        has such rows. The format is Parquet unless `format` says another one.
    **options
        Those of the format; see `freestone.io.formats`.

    Raises
    ------
    FormatError
        When a value can't be written in the format.
    StorageFullError
        When the disk is full.

    Notes
    -----
    Whoever reads sees the file that was there before, or all of the new one. When a write fails,
    the old file stays and nothing is left beside it. Each worker encodes its blocks and tells how
    large they are; from the sizes follows where each begins, and each is written there. Of text a
    worker keeps at most 256 MiB that can't be written yet. No byte of the rows goes through this
    program, unless a library of Python writes the format (Parquet, Arrow, TDMS, ROOT): then this
    program writes, block after block.
    """
    histograms = histograms_of(x)
    if histograms is not None:
        _write_histograms(histograms, url, format, options)
        return
    collection = _collection(x)
    if partition_by is not None:
        _write_folder(collection, url, partition_by, format or "parquet", progress, options)
        return
    writer = open_writer(url, shape_of(collection), format=format, **options)
    client = collection.client
    meter = _meter(writer, client)
    label = f"write {writer.location.name}"
    with telling(writer.location.url), metered(label, meter, progress):
        if isinstance(writer, SegmentWriter):
            write_segments(writer, collection, client, meter)
        elif isinstance(writer, FolderWriter):
            assert isinstance(collection, Array)
            with writer.drafted() as folder:
                write_chunks(collection, folder, meter)
        elif isinstance(writer, StreamWriter):
            _write_stream(writer, collection, meter)
        else:
            writer = _halved(_with_first_row(writer, collection, client), collection)
            if client is None:
                _write_here(writer, collection)
            else:
                write_there(writer, collection, client, meter)


def _write_folder(
    x: Collection,
    url: str | os.PathLike[str],
    partition_by: str | Sequence[str],
    format: str,
    progress: bool | None,
    options: dict[str, Any],
) -> None:
    """Write a folder of files, each block by the worker that has it."""
    if not isinstance(x, Frame):
        raise UsageError("partition_by= takes a frame or a table, whose columns have names")
    keys, location = keys_among(x, partition_by), locate(url)
    if location.path is None:
        raise UsageError(f"{location.url} is no path; partition_by= writes folders of files only")
    if not len(x):
        raise EmptyCollectionError(x.name, "write", "it has no rows, and so no folder either")
    suffix = (format_of("", format).suffixes or ("",))[0]
    sizes = x._block_nbytes().tolist()
    done: list[int] = []
    meter = Meter(sum(sizes), (lambda: sum(done)) if x.client is None else None)
    with (
        telling(location.url),
        metered(f"write {location.name}", meter, progress),
        drafted_folder(location, "folder of files", None) as folder,
    ):
        os.mkdir(folder)
        call = functools.partial(_write_parts, folder, suffix, keys, format, options)
        if x.client is not None:
            found = written(x.client, call, enumerate(x.blocks), "write parts", meter, sizes)
        else:
            found = []
            for number, block in enumerate(x.iter_blocks()):
                found.append(call(number, block))
                done.append(sizes[number])
        check_values(keys, set().union(*found))
        without_drafts(folder)


def _write_parts(
    folder: str,
    suffix: str,
    keys: Sequence[str],
    format: str,
    options: dict[str, Any],
    number: int,
    block: Any,
) -> set[tuple[Any, ...]]:
    """Write a file of a block's rows for each of their values; return these."""
    found = set()
    for values, name, part in parts_of(block, keys):
        path = os.path.join(folder, name)
        os.makedirs(path, exist_ok=True)
        file = os.path.join(path, f"{number:06}{suffix}")
        write(part, file, format=format, progress=False, **options)
        found.add(values)
    return found


def _halved(writer: Writer, x: Collection) -> Writer:
    """Check what is to be written as one half, and count the entries of that."""
    if not isinstance(writer, MtxWriter) or writer.symmetry == "general":
        return writer
    assert isinstance(x, Array)
    return replace(writer, entries=entries_of_half(x, writer.symmetry, writer.location.url))


def _with_first_row(writer: Writer, x: Collection, client: Client | None) -> Writer:
    """Look whether the first row of a CSV file could be taken for a header."""
    if not isinstance(writer, CsvWriter) or not writer.may_have_names_first or not len(x):
        return writer
    block = x.blocks[int(np.argmax(np.diff(x.offsets) > 0))]
    if client is None:
        found = writer.begins_with_names(block)
    else:
        options = {"near": "input", "name": f"write {writer.location.name}"}
        [found] = gather([client.submit(CsvWriter.begins_with_names, (writer, block), {}, options)])
    return replace(writer, has_names_first=found)


def _meter(writer: Any, client: Client | None) -> Meter:
    """Return what counts the bytes that are written here, or else by workers."""
    here = isinstance(writer, Writer) and not writer.location.random
    return Meter.of_writes() if client is None or here else Meter()


def _write_histograms(
    histograms: dict[str, Any],
    url: str | os.PathLike[str],
    format: str | None,
    options: dict[str, Any],
) -> None:
    location = locate(url)
    found = format_of(location.name, format)
    if found.write_histograms is None:
        raise UsageError(f"{location.url} can't have histograms; give it a name that ends in .root")
    if options:
        raise UsageError(f"histograms are written without options; leave {next(iter(options))} out")
    with telling(location.url), drafted(location) as draft:
        assert draft.path is not None
        found.write_histograms(draft.path, histograms)


_ANY = "make it an array or a table, as fs.Frame.from_table makes one of a dict of columns"
_INSTEAD = {
    "dask.Array": "write fs.Array.from_dask(x)",
    "dask.Bag": "write fs.Bag.from_dask(x).to_frame()",
    "dask.DataFrame": "write fs.Frame.from_dask(x)",
    "dask_expr.DataFrame": "write fs.Frame.from_dask(x)",
    "freestone.Bag": "write bag.to_frame()",
    "list": "write np.array(x), or polars.DataFrame(x) of a list of dicts",
    "xarray.DataArray": "write x.values, or x.to_dataframe().reset_index() as a table",
    "xarray.Dataset": "write x.to_dataframe().reset_index() as a table",
}
"""What to write instead of values that are no tables, by the library and class."""


def _collection(x: Any) -> Collection:
    if isinstance(x, Frame):
        return x
    x = with_blocks(x)
    if isinstance(x, ArrayMethods) and not isinstance(x, Array):
        x = x.compute()  # type: ignore[attr-defined]
    if isinstance(x, Array):
        return x
    if is_table(x) or type(x).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
        return Frame([_checked(x, "frame")], None, name="frame")
    if isinstance(x, np.ndarray) or is_sparse(x):
        return Array([_checked(x, "array")], None, name="array")
    name = f"{type(x).__module__.split('.')[0]}.{type(x).__name__}"
    advice = _INSTEAD.get(name.removeprefix("builtins."), _ANY)
    raise UsageError(f"a value of type {type(x).__name__} can't be written; {advice}")


def _checked(x: Any, kind: str) -> Any:
    from freestone.collections.making import Spec

    return Spec(collection=kind, kind=kind).check(x, 0, None)


def shape_of(x: Collection) -> Shape:
    """Return what a collection is to a writer."""
    metas = x._described()
    sparse = bool(metas) and metas[0].sparse
    if isinstance(x, Frame):
        return Shape(kind="frame", rows=len(x), columns=x.columns, schema=x.schema)
    assert isinstance(x, Array)
    if x.dtype.kind == "V":
        raise UsageError(
            f"an array of dtype {x.dtype} can't be written: fields of structured arrays go as the "
            "columns of a table, as in fs.write(pandas.DataFrame(x), ...)"
        )
    return Shape(
        kind="array",
        rows=len(x),
        columns=x.shape[1:],
        dtype=x.dtype.str,
        sparse=sparse,
        nonzeros=_nonzeros(x) if sparse else None,
    )


def _nonzeros(x: Array) -> int:
    client = x.client
    if client is None:
        return sum(int(block.nnz) for block in x.iter_blocks())
    counts: list[int] = gather(client.map(_nnz, zip(x.blocks), {"near": "input"}))
    return sum(counts)


def _nnz(block: Any) -> int:
    return int(block.nnz)


def _write_here(writer: Writer, x: Collection) -> None:
    threads = len(os.sched_getaffinity(0))
    with drafted(writer.location, _known_nbytes(writer, x)) as draft:
        pairs = list(zip(x.blocks, x.offsets[:-1].tolist(), strict=True))
        if not _write_rows(writer, draft, pairs, threads):
            _write_pieces(writer, draft, [encoded(writer, *pair) for pair in pairs])


def _known_nbytes(writer: Writer, x: Collection) -> int | None:
    """Return the bytes of the whole file, where they are known before rows are encoded."""
    sizes = []
    for count in np.diff(x.offsets).tolist():
        each = sizes_of(writer, count)
        if each is None:
            return None
        sizes.append(each)
    return Layout(writer, sizes).nbytes


def _write_pieces(writer: Writer, draft: Draft, pieces: Sequence[list[Any]]) -> None:
    """Write the encoded blocks, all of which are here."""
    sizes = [[memoryview(piece).nbytes for piece in each] for each in pieces]
    layout = Layout(writer, sizes)
    draft.write_at(layout.head, 0)
    for number, each in enumerate(pieces):
        place_pieces(writer, draft, *layout.row(number), each)
    write_beside(writer, layout.totals)


def _write_stream(writer: StreamWriter, x: Collection, meter: Meter) -> None:
    """Write block after block here, by the library of the format."""
    if not x.blocks:
        raise EmptyCollectionError(x.name, "write")
    with drafted(writer.location) as draft:
        assert draft.path is not None
        with meter.watching(draft.path):
            _stream(writer, draft.path, x)


def _stream(writer: StreamWriter, path: str, x: Collection) -> None:
    file = None
    try:
        for block in _of_one_schema(x):
            with by_library(writer.location):
                if file is None:
                    file = writer.begin(path, block)
                writer.append(file, block)
        with by_library(writer.location):
            writer.finish(file)
    except BaseException:
        if file is not None:
            writer.abandon(file)
        raise


def _of_one_schema(x: Collection) -> Iterator[Any]:
    """Yield the blocks, those of a frame with the columns and types of all of it.

    A column of a block without values has no type of its own.
    """
    for block in x.iter_blocks():
        if not isinstance(x, Frame) or block.schema.equals(x.schema):
            yield block
        else:
            yield concatenate([x.schema.empty_table(), block], x.name)


def _write_rows(
    writer: Writer, draft: Draft, pairs: Sequence[tuple[Any, int]], threads: int
) -> bool:
    """Write the blocks by the format's own threads, if it has such a way."""
    if draft.path is None:
        return False
    head = head_of(writer, [])
    offset: int | None = len(head)
    for block, start in pairs:
        offset = writer.write_rows(
            draft.path, offset or 0, block, start, threads=threads, unit=draft.unit
        )
        if offset is None:
            return False
    draft.write_at(head, 0)
    write_beside(writer, [(offset or 0) - len(head)])
    return True
