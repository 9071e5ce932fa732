"""NetCDF 4, by h5netcdf, and NetCDF 3: a variable as an array of any dimensions.

Options of a read: `variable`, its name, where the file has several that are no coordinates. Values
are unpacked as the CF conventions say: `scale_factor` and `add_offset` are applied, `_FillValue`
and `missing_value` become NaN; integers have the sign that `_Unsigned` says, and bytes are booleans
where the attribute `dtype`, which xarray writes, is "bool". Times stay numbers. Chunks are not cut
along the first axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.mtx import read_some
from freestone.io.formats.netcdf3 import CLASSIC, read_head
from freestone.io.formats.tables import file_of, foreign, needs, not_chosen
from freestone.io.raw import dtype_reported, read_values
from freestone.io.stores import FileLocation

__all__ = ["FORMAT", "open_dataset"]

# Rows of so many bytes are read one by one where those of other variables are in between.
MIN_ROW_NBYTES = 16 << 10
PACKED = ("scale_factor", "add_offset", "_FillValue", "missing_value")


@dataclass(frozen=True, kw_only=True)
class Variable(Dataset):
    """Rows of a variable."""

    variable: str
    is_packed: bool

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        with foreign(self.location), file_of(self.location) as raw, h5netcdf.File(raw, "r") as file:
            found = file.variables[self.variable]
            values = np.asarray(found[start:stop])
            attributes = dict(found.attrs)
            if self.is_packed:
                return unpacked(values, attributes, str(self.dtype))
            return typed(values, signed(values.dtype, attributes))


def typed(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return integers as those of another sign, or as booleans."""
    return values != 0 if dtype.kind == "b" else values.view(dtype)


def signed(stored: np.dtype[Any], attributes: Any) -> np.dtype[Any]:
    """Return the dtype of integers whose attributes say another than they are stored with.

    NetCDF 3 has no unsigned ones but bytes, and the NetCDF user guide has `_Unsigned` for them.
    Neither version has booleans: xarray writes bytes, and says so in `dtype`.
    """
    if stored.kind == "i" and stored.itemsize == 1 and _word(attributes.get("dtype", "")) == "bool":
        return np.dtype(bool)
    word = _word(attributes.get("_Unsigned", "")).lower()
    kind = {("i", "true"): "u", ("u", "false"): "i"}.get((stored.kind, word), stored.kind)
    return np.dtype(f"{stored.byteorder}{kind}{stored.itemsize}") if kind != stored.kind else stored


def _word(attribute: Any) -> str:
    found = np.asarray(attribute).reshape(-1)[0] if np.size(attribute) else ""
    return found.decode(errors="replace") if isinstance(found, bytes) else str(found)


def unpacked(values: Any, attributes: dict[str, Any], dtype: str) -> Any:
    """Return values as the CF conventions say that they are stored."""
    missing = np.zeros(values.shape, bool)
    for name in ("_FillValue", "missing_value"):
        if name in attributes:
            missing |= np.isin(values, np.asarray(attributes[name]).reshape(-1))
    out = values.view(signed(values.dtype, attributes)).astype(dtype)
    if "scale_factor" in attributes:
        out *= np.asarray(attributes["scale_factor"]).reshape(-1)[0]
    if "add_offset" in attributes:
        out += np.asarray(attributes["add_offset"]).reshape(-1)[0]
    out[missing] = np.nan
    return out


def open_dataset(location: FileLocation, *, variable: str | None = None) -> Dataset:
    """Look at the variables of a NetCDF file."""
    stamp = location.stamp()
    if read_some(location, stamp, len(CLASSIC[0])) in CLASSIC:
        return _open_classic(location, stamp, variable)
    h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
    with foreign(location), file_of(location) as raw, h5netcdf.File(raw, "r") as file:
        name = _chosen(location, list(file.variables), file.dimensions, variable)
        found = file.variables[name]
        if not found.shape:
            raise UsageError(
                f"{location.url}: {name!r} is one value, and no rows; read it by h5netcdf"
            )
        stored = dtype_reported(location.url, found.dtype)
        dtype, is_packed = _dtype_of(stored, found.attrs)
        return Variable(
            location=location,
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


def _dtype_of(stored: np.dtype[Any], attributes: Any) -> tuple[np.dtype[Any], bool]:
    """Return the dtype of unpacked values, and whether they are packed."""
    stored = signed(stored, attributes)
    is_packed = stored.kind in "iuf" and any(one in attributes for one in PACKED)
    # 32-bit floats hold what they hold; 16 bits and a scale need more than 24 seldom, but may.
    return stored if not is_packed or stored == np.float32 else np.dtype("f8"), is_packed


@dataclass(frozen=True, kw_only=True)
class Records(Dataset):
    """Rows of a variable of NetCDF 3, which are as many bytes apart."""

    stored: str
    offset: int
    stride: int
    attributes: dict[str, Any]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        stored, source = np.dtype(self.stored), self.location.source(self.stamp)
        nbytes, count = stored.itemsize * math.prod(self.columns), stop - start
        offset, shape = self.offset + start * self.stride, (count, *self.columns)
        if self.stride == nbytes or count < 2:
            values = read_values(source, offset, shape, stored, threads)
        elif nbytes >= MIN_ROW_NBYTES:
            values = np.empty(shape, stored)
            for row in range(count):
                read_values(source, offset + row * self.stride, shape[1:], stored, out=values[row])
        else:
            # Those of other variables in between are read, too.
            raw = read_values(source, offset, ((count - 1) * self.stride + nbytes,), "u1", threads)
            rows = np.lib.stride_tricks.as_strided(raw, (count, nbytes), (self.stride, 1))
            values = np.ascontiguousarray(rows).view(stored).reshape(shape)
        values = values.astype(stored.newbyteorder("="), copy=False)
        if not any(one in self.attributes for one in PACKED):
            return typed(values, np.dtype(self.dtype))
        return unpacked(values, self.attributes, str(self.dtype))


def _open_classic(location: FileLocation, stamp: tuple[Any, ...], variable: str | None) -> Dataset:
    head = read_head(location, stamp)
    name = _chosen(location, list(head.variables), head.dimensions, variable)
    found = head.variables[name]
    if not found.shape:
        raise UsageError(f"{location.url}: {name!r} is one value, and no rows; read it by SciPy")
    stored = np.dtype(found.dtype).newbyteorder("=")
    dtype, is_packed = _dtype_of(stored, found.attributes)
    row_nbytes = stored.itemsize * math.prod(found.shape[1:])
    end = found.offset + max(found.shape[0] - 1, 0) * found.stride + row_nbytes
    if found.shape[0] and end > int(stamp[0]):
        reason = f"{name!r} ends at byte {end:,}, and it has {stamp[0]:,} (truncated)"
        raise FormatError(location.url, reason)
    return Records(
        location=location,
        kind="array",
        stamp=stamp,
        rows=found.shape[0],
        columns=found.shape[1:],
        dtype=dtype.str,
        row_nbytes=dtype.itemsize * float(math.prod(found.shape[1:])),
        stored=found.dtype,
        offset=found.offset,
        stride=found.stride,
        attributes=found.attributes if is_packed else {},
    )


def _chosen(location: FileLocation, names: list[str], dimensions: Any, variable: str | None) -> str:
    if variable in names:
        return str(variable)
    data = [name for name in names if name not in dimensions]
    if variable is None and len(data) == 1:
        return str(data[0])
    raise UsageError(not_chosen(location.url, "variable", names, "variable", variable))


FORMAT = Format(name="netcdf", suffixes=(".nc", ".nc4"), open_dataset=open_dataset)
