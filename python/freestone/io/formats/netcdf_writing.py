"""Rows into NetCDF 4, by h5netcdf: an array as a variable, a frame as one of each column.

What NetCDF does not have is written as xarray's `to_netcdf` writes it: booleans are bytes with an
attribute ``dtype = "bool"``, times count from 1970, and missing times are a `_FillValue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.errors import UsageError
from freestone.io.formats.tables import needs
from freestone.io.writer import StreamWriter

__all__ = ["MARK", "NetcdfWriter"]

MARK = "freestone_frame"
"""An attribute of a file that is a frame: its columns, in their order."""

NAT = np.iinfo(np.int64).min
UNITS = {
    "D": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}


@dataclass(frozen=True)
class Form:
    """How values are stored: their dtype, and attributes that say what they stand for.

    `fill` is what is stored instead of missing values; None where there is nothing.
    """

    dtype: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    fill: Any = None


@dataclass
class Open:
    """A file, its variables, how many rows they have so far, and which have missing ones."""

    file: Any
    variables: dict[str, Any]
    forms: dict[str, Form]
    rows: int = 0
    missing: set[str] = field(default_factory=set)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


@dataclass(frozen=True, kw_only=True)
class NetcdfWriter(StreamWriter):
    """Variables that have all rows at once, which are then filled block after block.

    Attributes
    ----------
    variable : str
        The path of an array's variable.
    dimensions : tuple of str
        A name for each axis.
    coordinates : dict
        Values along some of them, by their names.
    attributes : dict
        Those of an array's variable; of a frame's file.
    compression : {"gzip"} or None
        How values are packed.
    """

    variable: str
    dimensions: tuple[str, ...]
    coordinates: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    compression: str | None

    def begin(self, path: str, first: Any) -> Open:
        """Open the file."""
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        forms = self._forms(first)
        coordinates = {
            name: self._form(values.dtype, f"the coordinate {name!r}")
            for name, values in self.coordinates.items()
        }
        opened = Open(h5netcdf.File(path, "w"), {}, forms)
        file, shape = opened.file, (self.shape.rows,)
        if self.shape.kind == "array":
            shape += self.shape.columns
        # Beside the variable, where xarray looks for them, too.
        folder = self.variable.rpartition("/")[0] if self.shape.kind == "array" else ""
        group = file.create_group(folder) if folder else file
        for name, length in zip(self.dimensions, shape, strict=True):
            group.dimensions[name] = length
        for name, form in coordinates.items():
            variable = self._made(group, name, (name,), form, len(self.coordinates[name]))
            _fill(variable, slice(None), self.coordinates[name])
        for name, form in forms.items():
            own = name.removeprefix(f"{folder}/")
            opened.variables[name] = self._made(group, own, self.dimensions, form, all(shape))
        if self.shape.kind == "array":
            self._describe(opened.variables[self.variable], forms[self.variable])
        else:
            self._describe(file, Form(None))
            file.attrs[MARK] = list(forms)
        return opened

    def _describe(self, what: Any, form: Form) -> None:
        """Give a variable or a file its attributes, beside those of the form of its values."""
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        refusals = (TypeError, ValueError, AttributeError, h5netcdf.core.CompatibilityError)
        for name, value in self.attributes.items():
            if name in form.attributes:
                raise UsageError(
                    f"{self.location.url}: the attribute {name!r} says how values are stored, "
                    f"here {form.attributes[name]!r}, and {value!r:.80} would have others read; "
                    "leave it out"
                )
            try:
                what.attrs[str(name)] = value
            except refusals as error:
                raise UsageError(
                    f"{self.location.url}: the attribute {name!r} is {value!r:.80}, and NetCDF has "
                    f"texts, numbers and lists of them ({error})"
                ) from None

    def append(self, file: Open, block: Any) -> None:
        """Write a block."""
        rows = len(block)
        for name, variable in file.variables.items():
            if self.shape.kind == "array":
                values, is_missing = block, block.dtype.kind in "mM" and np.isnat(block).any()
            else:
                self._check_missing(name, block[name], file.forms[name])
                values, is_missing = block[name].to_numpy(), block[name].null_count
            if is_missing:
                file.missing.add(name)
            _fill(variable, slice(file.rows, file.rows + rows), values)
        file.rows += rows

    def finish(self, file: Open) -> None:
        """Say what stands for missing values, and close."""
        for name in file.missing:
            form = file.forms[name]
            file.variables[name].attrs["_FillValue"] = np.dtype(form.dtype).type(form.fill)
        file.close()

    def _made(
        self, file: Any, name: str, dimensions: tuple[str, ...], form: Form, has_values: Any
    ) -> Any:
        packed = {"compression": self.compression} if self.compression and has_values else {}
        variable = file.create_variable(name, dimensions, form.dtype, **packed)
        variable.attrs.update(form.attributes)
        return variable

    def _forms(self, first: Any) -> dict[str, Form]:
        """Return how each variable is stored."""
        if self.shape.kind == "array":
            return {self.variable: self._form(np.dtype(self.shape.dtype), "the array")}
        forms = {}
        for each in first.schema:
            if not each.name.strip("/. ") or "/" in each.name or each.name[-1:] == " ":
                raise UsageError(
                    f"{self.location.url}: no variable of NetCDF can be called {each.name!r}; "
                    "rename the column"
                )
            what = f"column {each.name!r}"
            forms[each.name] = self._form(_dtype_of_column(each.type), what, each.type)
        return forms

    def _form(self, dtype: np.dtype[Any], what: str, kind: Any = None) -> Form:
        """Return how values of a dtype are stored."""
        if dtype.kind == "U":
            return Form(needs("h5py", "hdf5", "NetCDF").string_dtype())
        if dtype.kind == "b":
            return Form(np.dtype("i1"), {"dtype": "bool"})
        if dtype.kind in "iu":
            return Form(dtype.newbyteorder("="))
        if dtype.kind == "f" and dtype.itemsize in (4, 8):
            return Form(dtype.newbyteorder("="), fill=np.nan)
        unit, count = np.datetime_data(dtype) if dtype.kind in "mM" else ("", 0)
        if unit in UNITS and count == 1:
            return _of_times(dtype, unit)
        raise UsageError(
            f"{self.location.url}: {what} is of {kind or dtype}, and NetCDF has integers, floats "
            "of 32 and 64 bits, texts, and, as days to nanoseconds, times without a zone; cast it, "
            f"or write {'zarr' if kind is None else 'parquet'}"
        )

    def _check_missing(self, name: str, column: Any, form: Form) -> None:
        if column.null_count and form.fill is None:
            raise UsageError(
                f"{self.location.url}: column {name!r} of {column.type} has missing values, for "
                "which there is no value in NetCDF that it can't have itself; fill them, or cast "
                "integers to floats"
            )


def _fill(variable: Any, rows: slice, values: NDArray[Any]) -> None:
    """Write values as they are stored."""
    if not values.size:
        return
    if values.dtype.kind in "mM":
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).view("i8")
    elif values.dtype.kind == "b":
        values = values.astype("i1")
    elif values.dtype.kind == "U":
        values = values.astype(object)
    variable[rows] = values


def _of_times(dtype: np.dtype[Any], unit: str) -> Form:
    if dtype.kind == "M":
        attributes = {"units": f"{UNITS[unit]} since 1970-01-01", "calendar": "proleptic_gregorian"}
    else:
        # xarray has durations from seconds to nanoseconds only, whatever they are counted in.
        kept = unit if unit in ("ms", "us", "ns") else "s"
        attributes = {"units": UNITS[unit], "dtype": f"timedelta64[{kept}]"}
    return Form(np.dtype("i8"), attributes, NAT)


def _dtype_of_column(kind: Any) -> np.dtype[Any]:
    """Return NumPy's dtype of the values of a column; that of objects, if there is none."""
    pa = needs("pyarrow", "arrow", "a frame")
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return np.dtype("U1")
    if pa.types.is_date32(kind):
        return np.dtype("M8[D]")
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return np.dtype(f"M8[{kind.unit}]")
    if pa.types.is_duration(kind):
        return np.dtype(f"m8[{kind.unit}]")
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if is_number or pa.types.is_boolean(kind):
        dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return dtype
    return np.dtype(object)
