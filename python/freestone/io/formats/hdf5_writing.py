"""Rows into HDF5, by h5py: an array as a dataset, a frame as a group with one of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import UsageError
from freestone.io.formats.tables import needs, repeated
from freestone.io.writer import StreamWriter

__all__ = ["MARK", "Hdf5Writer"]

MARK = "freestone.frame"
"""An attribute of a group that is a frame."""


@dataclass
class Open:
    """A file, its datasets, and how many rows they have so far."""

    file: Any
    datasets: dict[str, Any]
    rows: int = 0

    def close(self) -> None:
        """Close the file."""
        self.file.close()


@dataclass(frozen=True, kw_only=True)
class Hdf5Writer(StreamWriter):
    """Datasets that have all rows at once, which are then filled block after block."""

    dataset: str
    compression: str | None

    def begin(self, path: str, first: Any) -> Open:
        """Open the file."""
        h5py = needs("h5py", "hdf5", "HDF5")
        types = self._types(first)
        file = h5py.File(path, "w")
        if self.shape.kind == "array":
            parent, names = file, {"": self.dataset}
        else:
            # The columns keep their order.
            parent = file.create_group(self.dataset, track_order=True)
            parent.attrs[MARK] = True
            names = {name: name for name in types}
        shape = (self.shape.rows, *(self.shape.columns if self.shape.kind == "array" else ()))
        packed = {"compression": self.compression} if all(shape) else {}
        return Open(
            file,
            {
                key: parent.create_dataset(name, shape, types[key], **packed)
                for key, name in names.items()
            },
        )

    def append(self, file: Open, block: Any) -> None:
        """Write a block."""
        rows = len(block)
        for name, dataset in file.datasets.items():
            values = block if self.shape.kind == "array" else self._values(name, block[name])
            if values.dtype.kind == "U":
                values = values.astype(object)
            if rows:
                self._check_texts(name, values)
                dataset[file.rows : file.rows + rows] = values
        file.rows += rows

    def _types(self, first: Any) -> dict[str, Any]:
        """Return the type of each dataset, that of an array by an empty name."""
        if self.shape.kind == "array":
            return {"": self._stored(np.dtype(self.shape.dtype), "the array")}
        pa = needs("pyarrow", "arrow", "a frame")
        twice = repeated(first.schema.names)
        if twice is not None:
            raise UsageError(f"{self.location.url}: two columns are called {twice!r}; rename one")
        found = {}
        for field in first.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if field.name in ("", ".") or "/" in field.name or "\0" in field.name:
                raise UsageError(
                    f"{self.location.url}: no dataset of HDF5 can be called {field.name!r}; rename "
                    "the column"
                )
            is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
            if is_text or pa.types.is_string_view(kind):
                dtype: Any = "U1"
            else:
                dtype = kind.to_pandas_dtype() if is_number or pa.types.is_boolean(kind) else object
            found[field.name] = self._stored(np.dtype(dtype), f"column {field.name!r}", kind)
        return found

    def _stored(self, dtype: np.dtype[Any], what: str, kind: Any = None) -> Any:
        """Return the type of a dataset for values of a dtype."""
        if dtype.kind == "U":
            return needs("h5py", "hdf5", "HDF5").string_dtype()
        if dtype.kind not in "biufcS":
            raise UsageError(
                f"{self.location.url}: {what} is of {kind or dtype}, and HDF5 has numbers, "
                "booleans and texts; cast it, dates to integers for instance, or write "
                f"{'zarr' if kind is None else 'parquet'}"
            )
        return dtype

    def _check_texts(self, name: str, values: Any) -> None:
        """Raise `UsageError` for texts that would end before their last character."""
        if values.dtype == object and any("\0" in text for text in values.flat if text):
            which = f"column {name!r}" if name else "the array"
            raise UsageError(
                f"{self.location.url}: {which} has a text with a NUL, at which texts of HDF5 end; "
                "replace it, or write parquet or npy"
            )

    def _values(self, name: str, column: Any) -> Any:
        """Return the values of a column."""
        pa = needs("pyarrow", "arrow", "a frame")
        if column.null_count and not pa.types.is_floating(column.type):
            raise UsageError(
                f"{self.location.url}: column {name!r} of {column.type} has missing values, and "
                "HDF5 has NaN in floats alone; fill them, cast to floats, or write parquet"
            )
        return column.to_numpy()
