"""NetCDF 4, by h5netcdf, and NetCDF 3: a variable as an array of any dimensions.

A file that `fs.write` made of a frame is that frame, unless `variable` names one. So are several
variables of one dimension, with its coordinate: all of a file that has no others, or those that lie
along the dimension of the columns that a read names.

Options of a read: `variable`, its name, where the file has several that are no coordinates; that of
a group is `group/name`. Values are decoded as the CF conventions say, by the rules of xarray's
`open_dataset`: `scale_factor` and `add_offset` are applied, `_FillValue` and `missing_value` become
NaN, or NaT, times are `datetime64[ns]`, and characters texts. `time_unit`, ``"s"``, ``"ms"`` or
``"us"``, is what times count instead of ``"ns"``, which has 1677 to 2262 only. `decode_cf=False`
gives the values as they are stored. Chunks are not cut along the first axis.

Options of a write: `variable`, by default ``"data"``, the name of an array's variable, or its path
in groups; `dimensions`, a name for each axis, by default ``dim_0``, ``dim_1`` and so on, and
``"index"`` of a frame, whose columns are variables; `coordinates`, a dict of the values along some
of the dimensions; `attributes`, a dict of those of the variable, such as its `units`, or of those
of a frame's file; and `compression`, ``"gzip"``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.cf import FILLS, TICKS_NS, Decoding, word_of
from freestone.io.formats.format import Format
from freestone.io.formats.mtx import read_some
from freestone.io.formats.netcdf3 import CLASSIC, Head, Stored, read_head
from freestone.io.formats.netcdf_frames import (
    ClassicColumns,
    Columns,
    Look,
    columns_among,
    decoded,
    decoding_among,
    described,
    looks_of_group,
    looks_of_head,
    some_columns,
)
from freestone.io.formats.netcdf_writing import MARK, NetcdfWriter
from freestone.io.formats.tables import file_of, foreign, needs, not_chosen
from freestone.io.formats.vlen import texts_of, widest_text
from freestone.io.raw import dtype_reported, read_values
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

MAX_COORDINATES = 1 << 20
"""Longer axes are not compared with those of other files."""
# Rows of so many bytes are read one by one where those of other variables are in between.
MIN_ROW_NBYTES = 16 << 10


@dataclass(frozen=True, kw_only=True)
class Variable(Dataset):
    """Rows of a variable."""

    variable: str
    decoding: Decoding | None

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        with foreign(self.location), file_of(self.location) as raw, h5netcdf.File(raw, "r") as file:
            values = np.asarray(file[self.variable][start:stop])
        return decoded(texts_of(values, self.dtype), self.decoding)


def open_dataset(
    location: FileLocation,
    wanted: Sequence[str] = (),
    *,
    variable: str | None = None,
    decode_cf: bool = True,
    time_unit: str | None = None,
) -> Dataset:
    """Look at the variables of a NetCDF file."""
    if time_unit is not None and time_unit not in TICKS_NS:
        raise UsageError(f"time_unit={time_unit!r}: it is one of {', '.join(map(repr, TICKS_NS))}")
    if time_unit is not None and not decode_cf:
        raise UsageError(
            "time_unit= is for times, and decode_cf=False reads numbers; leave one out"
        )
    tick = (time_unit or "ns") if decode_cf else None
    stamp = location.stamp()
    if read_some(location, stamp, len(CLASSIC[0])) in CLASSIC:
        return _open_classic(location, stamp, wanted, variable, tick)
    h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
    with foreign(location), file_of(location) as raw, h5netcdf.File(raw, "r") as file:
        frame = None if variable is not None else _frame_of(location, file, stamp, wanted, tick)
        if frame is not None:
            return frame
        found, group = _variable_of(location, file, variable, tick)
        name = found.name.strip("/")
        if not found.shape:
            raise UsageError(
                f"{location.url}: {name!r} is one value, and no rows; read it by h5netcdf"
            )
        stored, shape = dtype_reported(location.url, widest_text(found)), tuple(found.shape)
        decoding = None
        if tick:
            attributes = {each: dict(one.attrs) for each, one in group.variables.items()}
            decoding = decoding_among(location, name, stored, shape, attributes, tick)
        dtype, columns = _decoded_form(stored, shape, decoding)
        return Variable(
            location=location,
            kind="array",
            stamp=stamp,
            rows=int(shape[0]),
            columns=columns,
            dtype=dtype.str,
            unit_rows=int(found.chunks[0]) if found.chunks else 1,
            row_nbytes=dtype.itemsize * float(math.prod(columns)),
            variable=name,
            decoding=decoding,
            meaning=_meaning(
                dtype,
                found.attrs.get("units"),
                found.dimensions,
                lambda name: _coordinates(group, name),
            ),
        )


def _frame_of(
    location: FileLocation,
    file: Any,
    stamp: tuple[Any, ...],
    wanted: Sequence[str],
    tick: str | None,
) -> Columns | None:
    """Return the frame that a file is, or that its variables of some names are; None if none."""
    looks = looks_of_group(file)
    if MARK in file.attrs:
        names: list[str] | None = [str(name) for name in np.atleast_1d(file.attrs[MARK])]
        for name in names or ():
            if name not in looks or len(looks[name].shape) != 1:
                reason = f"it says that {name!r} is a column, and this is no variable of one"
                raise FormatError(location.url, f"{reason} dimension")
        wanted = ()
    else:
        names = columns_among(location, looks, wanted, decodes=tick is not None)
    if names is None:
        return None
    return Columns(stamp=stamp, **described(location, looks, names, wanted, tick))


def _coordinates(group: Any, dimension: str) -> Any:
    """Return the values that a group, or one above it, gives to a dimension; None if none."""
    while group is not None and dimension not in group.variables:
        group = None if group.parent is group else group.parent
    if group is None:
        return None
    found = group.variables[dimension]
    is_axis = len(found.shape) == 1 and found.shape[0] <= MAX_COORDINATES
    return np.asarray(found[:]) if is_axis else None


def _meaning(
    dtype: np.dtype[Any],
    units: Any,
    dimensions: Sequence[str],
    coordinates: Callable[[str], Any],
) -> tuple[tuple[str, Any], ...]:
    """Return what files have to have in common: units, the axes of a row, and what is along them.

    Times are decoded, so that their units are the same.
    """
    found: list[tuple[str, Any]] = []
    if not any(name.startswith("phony_dim") for name in dimensions):
        # Not made up for a file that names none.
        found.append(("dimensions", ", ".join(dimensions)))
    if word_of(units) and dtype.kind not in "mM":
        found.append(("units", word_of(units)))
    for name in dimensions[1:]:
        values = coordinates(name)
        if values is not None:
            digest = hashlib.blake2b(repr(values.tolist()).encode(), digest_size=16).digest()
            found.append((f"coordinates along {name!r}", digest))
    return tuple(found)


def _variable_of(
    location: FileLocation, file: Any, variable: str | None, tick: str | None
) -> tuple[Any, Any]:
    """Return a variable, and the group that has it."""
    looks = looks_of_group(file)
    coordinates = [name for name in looks if _is_coordinate(file, name)]
    name = _chosen(location, looks, coordinates, variable, tick)
    group, _, own = name.rpartition("/")
    holder = file[group] if group else file
    return holder.variables[own], holder


def _is_coordinate(file: Any, name: str) -> bool:
    group, _, own = name.rpartition("/")
    return own in (file[group] if group else file).dimensions


def _decoded_form(
    stored: np.dtype[Any], shape: tuple[int, ...], decoding: Decoding | None
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype of decoded values, and the shape of a row of them."""
    if decoding is None:
        return stored, tuple(map(int, shape[1:]))
    columns = shape[1:-1] if decoding.characters else shape[1:]
    return np.dtype(decoding.dtype), tuple(map(int, columns))


@dataclass(frozen=True, kw_only=True)
class Records(Dataset):
    """Rows of a variable of NetCDF 3, which are as many bytes apart."""

    stored: str
    stored_columns: tuple[int, ...]
    offset: int
    stride: int
    decoding: Decoding | None

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        stored, source = np.dtype(self.stored), self.location.source(self.stamp)
        nbytes, count = stored.itemsize * math.prod(self.stored_columns), stop - start
        offset, shape = self.offset + start * self.stride, (count, *self.stored_columns)
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
        return decoded(values.astype(stored.newbyteorder("="), copy=False), self.decoding)


def _open_classic(
    location: FileLocation,
    stamp: tuple[Any, ...],
    wanted: Sequence[str],
    variable: str | None,
    tick: str | None,
) -> Dataset:
    head = read_head(location, stamp)
    looks = looks_of_head(head)
    if variable is None:
        columns = columns_among(location, looks, wanted, decodes=tick is not None)
        if columns is not None:
            parts = described(location, looks, columns, wanted, tick)
            variables = {
                name: _records(location, stamp, name, head.variables[name], None)
                for name in parts["columns"]
            }
            return ClassicColumns(stamp=stamp, variables=variables, **parts)
    name = _chosen(location, looks, [*head.dimensions], variable, tick)
    found = head.variables[name]
    if not found.shape:
        raise UsageError(f"{location.url}: {name!r} is one value, and no rows; read it by SciPy")
    decoding = None
    if tick:
        attributes = {each: one.attributes for each, one in head.variables.items()}
        stored = looks[name].dtype
        decoding = decoding_among(location, name, stored, found.shape, attributes, tick)
    records = _records(location, stamp, name, found, decoding)
    meaning = _meaning(
        np.dtype(records.dtype),
        found.attributes.get("units"),
        found.axes,
        lambda name: _classic_coordinates(location, stamp, head, name),
    )
    return replace(records, meaning=meaning)


def _records(
    location: FileLocation,
    stamp: tuple[Any, ...],
    name: str,
    found: Stored,
    decoding: Decoding | None,
) -> Records:
    """Return the rows of a variable; `FormatError` if the file ends before them."""
    stored = np.dtype(found.dtype).newbyteorder("=")
    row_nbytes = stored.itemsize * math.prod(found.shape[1:])
    end = found.offset + max(found.shape[0] - 1, 0) * found.stride + row_nbytes
    if found.shape[0] and end > int(stamp[0]):
        reason = f"{name!r} ends at byte {end:,}, and it has {stamp[0]:,} (truncated)"
        raise FormatError(location.url, reason)
    dtype, columns = _decoded_form(stored, found.shape, decoding)
    return Records(
        location=location,
        kind="array",
        stamp=stamp,
        rows=found.shape[0],
        columns=columns,
        dtype=dtype.str,
        row_nbytes=dtype.itemsize * float(math.prod(columns)),
        stored=found.dtype,
        stored_columns=found.shape[1:],
        offset=found.offset,
        stride=found.stride,
        decoding=decoding,
    )


def _classic_coordinates(
    location: FileLocation, stamp: tuple[Any, ...], head: Head, dimension: str
) -> Any:
    found = head.variables.get(dimension)
    if found is None or len(found.shape) != 1 or math.prod(found.shape) > MAX_COORDINATES:
        return None
    source, count = location.source(stamp), found.shape[0]
    return read_values(source, found.offset, (count,), np.dtype(found.dtype), 1)


def _chosen(
    location: FileLocation,
    looks: Mapping[str, Look],
    coordinates: Sequence[str],
    variable: str | None,
    tick: str | None,
) -> str:
    """Return the name of a variable: the one that is asked for, or the only one with data.

    A file of coordinates alone has one if it has only that. Values without an axis are no rows.
    """
    wanted = variable.strip("/") if isinstance(variable, str) else variable
    if isinstance(wanted, str) and wanted in looks:
        return wanted
    data = [name for name, look in looks.items() if look.shape and name not in coordinates]
    only = data or list(looks)
    if variable is None and len(only) == 1:
        return only[0]
    if variable is not None and not isinstance(variable, str):
        raise UsageError(
            f"variable={variable!r:.80}: it is the name of one; columns= names several of one "
            "dimension, as columns of a frame"
        )
    reason = not_chosen(location.url, "variable", list(looks), "variable", variable)
    columns = some_columns(looks, decodes=tick is not None)
    if columns:
        reason += f", or columns={columns!r} for a frame of variables of one dimension"
    raise UsageError(reason)


def open_writer(
    location: FileLocation,
    shape: Shape,
    *,
    variable: str | None = None,
    dimensions: str | Sequence[str] | None = None,
    coordinates: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    compression: str | None = None,
) -> StreamWriter:
    """Write a variable of an array, or one of each column of a frame."""
    needs("h5netcdf", "hdf5", "NetCDF")
    needs_columns(location, shape)
    if shape.sparse:
        raise UsageError(
            f"{location.url}: this format has no sparse arrays; write it as dbdf, mtx or csv"
        )
    if variable is not None and shape.kind == "frame":
        raise UsageError(
            f"variable={variable!r}: it names that of an array; those of a frame are its columns"
        )
    name = "data" if variable is None else str(variable).strip("/")
    if not name.strip("/. "):
        raise UsageError(f"variable={variable!r}: it is a name, such as 't2m' or 'surface/t2m'")
    for option, given, example in (
        ("coordinates", coordinates, '{"time": [0, 1, 2]}'),
        ("attributes", attributes, '{"units": "mm"}'),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(f"{option}={given!r:.80}: it is a dict, such as {example}")
    if compression not in (None, "gzip"):
        raise UsageError(f"compression={compression!r}: it is 'gzip' or None")
    lengths = (shape.rows, *(shape.columns if shape.kind == "array" else ()))
    names = _dimensions(shape, lengths, dimensions)
    own = shape.columns if shape.kind == "frame" else (name.rpartition("/")[2],)
    twice = next((each for each in own if each in (coordinates or ())), None)
    if twice is not None:
        what = "a column" if shape.kind == "frame" else "the array itself"
        raise UsageError(f"coordinates of {twice!r}: {what} is called so; leave out or rename one")
    meant = attributes or {}
    if shape.kind == "array":
        meant = _meant(meant, np.dtype(shape.dtype))
    return NetcdfWriter(
        location=location,
        shape=shape,
        variable=name,
        dimensions=names,
        coordinates=_along(dict(zip(names, lengths, strict=True)), coordinates),
        attributes=meant,
        compression=compression,
    )


def _dimensions(
    shape: Shape, lengths: tuple[int, ...], dimensions: str | Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of the axes."""
    if dimensions is None:
        names = tuple(f"dim_{axis}" for axis in range(len(lengths)))
        return ("index",) if shape.kind == "frame" else names
    if not isinstance(dimensions, Iterable):
        raise UsageError(f"dimensions={dimensions!r}: it is a list of names, one of each axis")
    names = (dimensions,) if isinstance(dimensions, str) else tuple(map(str, dimensions))
    if len(names) != len(lengths) or len({*names}) < len(names) or not all(names):
        raise UsageError(
            f"dimensions={dimensions!r}: it is {len(lengths)} different names, one of each axis, "
            f"of {' x '.join(map(str, lengths))} elements"
        )
    wrong = next((name for name in names if "/" in name or not name.strip(". ")), None)
    if wrong is not None:
        raise UsageError(f"dimensions={dimensions!r}: {wrong!r} is no name of a dimension")
    return names


def _meant(attributes: Mapping[str, Any], dtype: np.dtype[Any]) -> Mapping[str, Any]:
    """Return attributes that leave the meaning of the values that are written as it is."""
    for name in (*FILLS, "scale_factor", "add_offset", "_Unsigned", "_Encoding", "dtype"):
        if name in attributes:
            raise UsageError(
                f"attributes of {name!r} would have other values read than those that are written; "
                "leave it out, or write it by xarray, which packs values"
            )
    units = word_of(attributes.get("units"))
    if dtype.kind in "biuf" and " since " in units:
        raise UsageError(
            f"attributes of 'units', {units!r:.80}, would have the {dtype} that are written read "
            'as dates; write dates, as np.datetime64("2000-01-01") + x.astype("m8[D]") for days '
            "since that one, which need no units, or leave out the date, as in 'days'"
        )
    return attributes


def _along(lengths: dict[str, int], coordinates: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values along dimensions."""
    found = {}
    for name, values in (coordinates or {}).items():
        if name not in lengths:
            raise UsageError(
                f"coordinates of {name!r}: the dimensions are {', '.join(map(repr, lengths))}"
            )
        try:
            found[name] = np.asarray(values)
        except ValueError as error:
            raise UsageError(f"coordinates of {name!r} are no array: {error}") from None
        if found[name].shape != (lengths[name],):
            raise UsageError(
                f"coordinates of {name!r} have shape {found[name].shape}, and the dimension has "
                f"{lengths[name]} elements"
            )
    return found


FORMAT = Format(
    name="netcdf",
    suffixes=(".nc", ".nc4"),
    open_dataset=open_dataset,
    open_writer=open_writer,
    any_dimensions=True,
    takes_names=True,
)
