"""Zarr arrays, by zarr: a folder with a file for each chunk. Chunks of rows are not cut.

Options of a read: `array`, the name of an array where the folder is a group of them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import dataclass
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.folders import drafted_folder
from freestone.io.formats.format import Format
from freestone.io.formats.tables import foreign, needs, not_chosen
from freestone.io.raw import dtype_reported
from freestone.io.stores import FileLocation, locate
from freestone.io.writer import Shape

__all__ = ["FORMAT", "FolderWriter", "drafted", "open_dataset", "open_writer"]

# What says shape and chunks, in the third version of the format and in the second.
METADATA = ("zarr.json", ".zarray")
OLD_GROUP = ".zgroup"


@dataclass(frozen=True, kw_only=True)
class Rows(Dataset):
    """Rows of an array."""

    @property
    def nbytes(self) -> int:
        """Bytes of its values, which the file of its metadata does not tell."""
        return int(self.rows * self.row_nbytes)

    def check(self) -> None:
        """Raise `FileChangedError` unless its metadata are those that were read."""
        _checked(self)

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        with foreign(self.location):
            return _open(self.location)[start:stop]


def _checked(dataset: Dataset) -> None:
    from freestone.errors import FileChangedError

    if _stamp(dataset.location) != dataset.stamp:
        raise FileChangedError(
            dataset.location.url, "its shape, or the time of its change, differs"
        )


def _open(location: FileLocation) -> Any:
    return needs("zarr", "zarr", "Zarr").open_array(location.path or location.url, mode="r")


def _stamp(location: FileLocation) -> tuple[Any, ...]:
    if location.path is None:
        return ()
    for name in METADATA:
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(os.path.join(location.path, name))
            return found.st_size, found.st_ino, found.st_mtime_ns
    if not os.path.exists(location.path):
        raise FileNotFoundError(location.path)
    raise FormatError(location.url, f"it is no Zarr array: it has no {' or '.join(METADATA)}")


def _is_array(folder: str) -> bool:
    """Tell whether a folder holds an array, and not a group of them, or anything else."""
    new, old = (os.path.join(folder, name) for name in METADATA)
    try:
        with open(new, "rb") as file:
            return bool(json.load(file).get("node_type") == "array")
    except (OSError, ValueError, AttributeError):
        return os.path.exists(old)


def _is_group(folder: str) -> bool:
    """Tell whether a folder holds a group of arrays."""
    return not _is_array(folder) and any(
        os.path.exists(os.path.join(folder, name)) for name in (METADATA[0], OLD_GROUP)
    )


def _member(location: FileLocation, array: str | None) -> FileLocation:
    """Return the place of an array in a group, or of one that is in none.

    Raises
    ------
    UsageError
        When no array of a group is named, or one that is not there.
    """
    if location.path is None:
        return location if array is None else locate(f"{location.url.rstrip('/')}/{array}")
    if array is None and not _is_group(location.path):
        return location
    path = os.path.join(location.path, str(array))
    if array is None or not _is_array(path):
        names = _arrays_below(location)
        raise UsageError(not_chosen(location.url, "array", names, "array", array))
    return locate(path)


def _arrays_below(location: FileLocation) -> list[str]:
    folder = str(location.path)
    if not _is_group(folder):
        _stamp(location)
        return []
    with foreign(location):
        group = needs("zarr", "zarr", "Zarr").open_group(folder, mode="r")
        return sorted(
            name for name, found in group.members(max_depth=None) if hasattr(found, "shape")
        )


def open_dataset(location: FileLocation, *, array: str | None = None) -> Dataset:
    """Read the metadata of a Zarr array."""
    location = _member(location, array)
    stamp = _stamp(location)
    with foreign(location):
        store = _open(location)
        shape, chunks = tuple(store.shape), tuple(store.chunks)
        dtype = dtype_reported(location.url, store.dtype)
    if not shape:
        raise FormatError(location.url, "an array of no dimension; it has to be of one or more")
    return Rows(
        location=location,
        kind="array",
        rows=shape[0],
        columns=shape[1:],
        dtype=dtype.str,
        row_nbytes=dtype.itemsize * math.prod(shape[1:]),
        unit_rows=max(chunks[0], 1),
        stamp=stamp,
    )


def open_writer(location: FileLocation, shape: Shape) -> FolderWriter:
    """Write a chunk for each block, of one length, by the worker that has it."""
    if shape.kind == "frame" or shape.sparse:
        raise UsageError("Zarr has dense arrays only; write frames as parquet, sparse ones as dbdf")
    if location.path is None:
        raise UsageError(
            f"{location.url} is no path; to_zarr writes to URLs, though not all at once"
        )
    needs("zarr", "zarr", "Zarr")
    return FolderWriter(location, shape)


@dataclass(frozen=True)
class FolderWriter:
    """A folder that takes its name when all of it is there."""

    location: FileLocation
    shape: Shape

    def drafted(self) -> contextlib.AbstractContextManager[str]:
        """Give the path of a folder that becomes this one unless the block raises."""
        return drafted(self.location)


def drafted(location: FileLocation) -> contextlib.AbstractContextManager[str]:
    """Give the path of a folder that becomes an array's unless the block raises."""
    return drafted_folder(location, "array", _is_array)


FORMAT = Format(
    name="zarr",
    suffixes=(".zarr",),
    open_dataset=open_dataset,
    open_writer=open_writer,
    any_dimensions=True,
)
