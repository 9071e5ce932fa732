"""HDF5, by h5py: a dataset as an array of any dimensions; one of records, or a group, as a frame.

Options of a read: `dataset`, the path of a dataset or a group in the file, where it has several
datasets. A group whose datasets have one dimension and one length is a frame of these columns.
Texts of any length become an array that is as wide as the longest, for which all of them are read.
Chunks are not cut along the first axis.

Options of a write: `dataset`, the path of the dataset of an array, or of the group of a frame,
which has one for each column; and `compression`, ``"gzip"`` or ``"lzf"``. Missing floats are
written as NaN; other columns with missing values are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.hdf5_writing import MARK, Hdf5Writer
from freestone.io.formats.tables import SHOWN, file_of, foreign, needs, not_chosen
from freestone.io.formats.vlen import texts_of, widest_text
from freestone.io.raw import dtype_reported
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]


@dataclass(frozen=True, kw_only=True)
class Values(Dataset):
    """Rows of a dataset."""

    dataset: str

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        h5py = needs("h5py", "hdf5", "HDF5")
        with foreign(self.location), file_of(self.location) as raw, h5py.File(raw, "r") as file:
            return texts_of(file[self.dataset][start:stop], self.dtype)


@dataclass(frozen=True, kw_only=True)
class Fields(Dataset):
    """Rows of a dataset of records, or of the datasets of a group."""

    is_columnar: ClassVar[bool] = True
    dataset: str
    is_group: bool

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        h5py, pa = needs("h5py", "hdf5", "HDF5"), needs("pyarrow", "arrow", "a frame")
        with foreign(self.location), file_of(self.location) as raw, h5py.File(raw, "r") as file:
            found = file[self.dataset]
            if not self.is_group:
                # A field of a record is read with the others, chunk by chunk.
                records = found.fields(list(self.columns))[start:stop]
                return pa.table([_column(records[name]) for name in self.columns], self.columns)
            values = [self._values_of(found, name, start, stop) for name in self.columns]
            return pa.table([_column(each) for each in values], list(self.columns))

    def _values_of(self, group: Any, name: str, start: int, stop: int) -> Any:
        h5py = needs("h5py", "hdf5", "HDF5")
        dataset = group[name]
        is_text = h5py.check_string_dtype(dataset.dtype) is not None
        try:
            return (dataset.asstr() if is_text else dataset)[start:stop]
        except UnicodeDecodeError as error:
            path = dataset.name.strip("/")
            raise FormatError(
                self.location.url,
                f"{path!r} has texts that are not of its encoding ({error}); read it alone, as "
                f"bytes, by dataset={path!r}",
            ) from None

    def select(self, columns: tuple[str, ...]) -> Fields:
        """Return the frame with some of its columns only."""
        return self._with_columns(columns)


def _column(values: Any) -> Any:
    pa = needs("pyarrow", "arrow", "a frame")
    if values.dtype.kind in "SO":
        return pa.array(values.tolist(), pa.binary() if values.dtype.kind == "S" else pa.string())
    return pa.array(np.ascontiguousarray(values))


def open_dataset(location: FileLocation, *, dataset: str | None = None) -> Dataset:
    """Look at the datasets of an HDF5 file."""
    h5py = needs("h5py", "hdf5", "HDF5")
    stamp = location.stamp()
    with foreign(location), file_of(location) as raw, h5py.File(raw, "r") as file:
        name = _chosen(location, file, dataset)
        found = file[name]
        if isinstance(found, h5py.Group):
            return _frame_of_group(location, found, name, stamp)
        if not found.shape:
            raise UsageError(f"{location.url}: {name!r} is one value, and no rows; read it by h5py")
        unit = found.chunks[0] if found.chunks else 1
        common: dict[str, Any] = {
            "location": location,
            "stamp": stamp,
            "rows": int(found.shape[0]),
            "unit_rows": int(unit),
            "row_nbytes": found.dtype.itemsize * float(np.prod(found.shape[1:])),
            "dataset": name,
        }
        if found.dtype.names is not None:
            if len(found.shape) > 1:
                raise UsageError(
                    f"{location.url}: {name!r} has records in {len(found.shape)} dimensions"
                )
            _check_fields(location, found.dtype)
            return Fields(kind="frame", columns=found.dtype.names, is_group=False, **common)
        dtype = dtype_reported(location.url, widest_text(found))
        common["row_nbytes"] = dtype.itemsize * float(np.prod(found.shape[1:]))
        return Values(kind="array", columns=tuple(found.shape[1:]), dtype=dtype.str, **common)


def _check_fields(location: FileLocation, dtype: Any) -> None:
    """Raise `UsageError` for a field of a record that is no column."""
    for name in dtype.names:
        one = dtype[name]
        if one.shape or one.names is not None or one.kind not in "biufS":
            raise UsageError(
                f"{location.url}: field {name!r} of type {one} is no column; read it by h5py"
            )


def _frame_of_group(
    location: FileLocation, group: Any, name: str, stamp: tuple[Any, ...]
) -> Dataset:
    h5py = needs("h5py", "hdf5", "HDF5")
    members = {key: one for key, one in group.items() if isinstance(one, h5py.Dataset)}
    lengths = {key: one.shape for key, one in members.items()}
    if (
        not members
        or any(len(shape) != 1 for shape in lengths.values())
        or len({*lengths.values()}) > 1
    ):
        shown = (
            ", ".join(f"{key!r} {shape}" for key, shape in list(lengths.items())[:SHOWN]) or "none"
        )
        raise UsageError(
            f"{location.url}: group {name!r} is a frame only if its datasets have one dimension "
            f"and one length: {shown}; say dataset= of one of them"
        )
    for key, one in members.items():
        if one.dtype.kind not in "biufS" and h5py.check_string_dtype(one.dtype) is None:
            raise UsageError(
                f"{location.url}: {key!r} of type {one.dtype} is no column; say dataset="
            )
    rows = next(iter(members.values())).shape[0]
    chunks = [one.chunks[0] for one in members.values() if one.chunks]
    return Fields(
        location=location,
        kind="frame",
        stamp=stamp,
        rows=int(rows),
        columns=tuple(members),
        unit_rows=int(max(chunks, default=1)),
        row_nbytes=float(sum(one.dtype.itemsize for one in members.values())),
        dataset=name,
        is_group=True,
    )


def _chosen(location: FileLocation, file: Any, dataset: str | None) -> str:
    """Return the path of what is to be read."""
    h5py = needs("h5py", "hdf5", "HDF5")
    # A link to nothing has a name, and no object.
    if dataset is not None and dataset in file and file.get(dataset) is not None:
        return dataset
    frames = [name for name, one in file.items() if one is not None and MARK in one.attrs]
    if dataset is None and len(file) == len(frames) == 1:
        return str(frames[0])
    names: list[str] = []
    file.visititems(lambda name, one: names.append(name) if isinstance(one, h5py.Dataset) else None)
    if dataset is None and len(names) == 1:
        return names[0]
    raise UsageError(not_chosen(location.url, "dataset", names, "dataset", dataset))


def open_writer(
    location: FileLocation,
    shape: Shape,
    *,
    dataset: str | None = None,
    compression: str | None = None,
) -> StreamWriter:
    """Write a dataset of an array, or a group of datasets of a frame."""
    needs("h5py", "hdf5", "HDF5")
    needs_columns(location, shape)
    if shape.sparse:
        raise UsageError(
            f"{location.url}: this format has no sparse arrays; write it as dbdf, mtx or csv"
        )
    name = ("frame" if shape.kind == "frame" else "data") if dataset is None else dataset
    if not str(name).strip("/."):
        raise UsageError(f"dataset={dataset!r}: it is a path in the file, such as 'run/images'")
    if compression not in (None, "gzip", "lzf"):
        raise UsageError(f"compression={compression!r}: it is 'gzip', 'lzf' or None")
    return Hdf5Writer(location=location, shape=shape, dataset=name, compression=compression)


FORMAT = Format(
    name="hdf5",
    suffixes=(".h5", ".hdf5"),
    open_dataset=open_dataset,
    open_writer=open_writer,
    any_dimensions=True,
)
