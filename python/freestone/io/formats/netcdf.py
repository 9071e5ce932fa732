"""NetCDF 4, by h5netcdf: a variable as an array of any dimensions.

Options of a read: `variable`, its name, where the file has several that are no coordinates. Values
are unpacked as the CF conventions say: `scale_factor` and `add_offset` are applied, `_FillValue`
and `missing_value` become NaN. Times stay numbers. Chunks are not cut along the first axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import file_of, foreign, needs, some_of
from freestone.io.raw import dtype_reported
from freestone.io.stores import Place

__all__ = ["FORMAT", "open_dataset"]

PACKED = ("scale_factor", "add_offset", "_FillValue", "missing_value")


@dataclass(frozen=True, kw_only=True)
class Variable(Dataset):
    """Rows of a variable."""

    variable: str
    is_packed: bool

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        with foreign(self.place), file_of(self.place) as raw, h5netcdf.File(raw, "r") as file:
            found = file.variables[self.variable]
            values = np.asarray(found[start:stop])
            return (
                _unpacked(values, dict(found.attrs), str(self.dtype)) if self.is_packed else values
            )


def _unpacked(values: Any, attributes: dict[str, Any], dtype: str) -> Any:
    """Return values as the CF conventions say that they are stored."""
    missing = np.zeros(values.shape, bool)
    for name in ("_FillValue", "missing_value"):
        if name in attributes:
            missing |= np.isin(values, np.asarray(attributes[name]).reshape(-1))
    out = values.astype(dtype)
    if "scale_factor" in attributes:
        out *= np.asarray(attributes["scale_factor"]).reshape(-1)[0]
    if "add_offset" in attributes:
        out += np.asarray(attributes["add_offset"]).reshape(-1)[0]
    out[missing] = np.nan
    return out


def open_dataset(place: Place, *, variable: str | None = None) -> Dataset:
    """Look at the variables of a NetCDF file."""
    h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
    stamp = place.stamp()
    with foreign(place), file_of(place) as raw, h5netcdf.File(raw, "r") as file:
        name = _chosen(place, file, variable)
        found = file.variables[name]
        if not found.shape:
            raise UsageError(
                f"{place.url}: {name!r} is one value, and no rows; read it by h5netcdf"
            )
        stored = dtype_reported(place.url, found.dtype)
        is_packed = stored.kind in "iuf" and any(one in found.attrs for one in PACKED)
        # 32-bit floats hold what they hold; 16 bits and a scale need more than 24 seldom, but may.
        dtype = stored if not is_packed or stored == np.float32 else np.dtype("f8")
        return Variable(
            place=place,
            kind="array",
            stamp=stamp,
            rows=int(found.shape[0]),
            columns=tuple(map(int, found.shape[1:])),
            dtype=dtype.str,
            unit_rows=int(found.chunks[0]) if found.chunks else 1,
            row_nbytes=dtype.itemsize * float(np.prod(found.shape[1:])),
            variable=name,
            is_packed=is_packed,
        )


def _chosen(place: Place, file: Any, variable: str | None) -> str:
    names = list(file.variables)
    if variable in names:
        return str(variable)
    data = [name for name in names if name not in file.dimensions]
    if variable is None and len(data) == 1:
        return str(data[0])
    raise UsageError(f"{place.url} has the variables {some_of(names)}; say variable=")


FORMAT = Format(name="netcdf", suffixes=(".nc", ".nc4"), open_dataset=open_dataset)
