"""Frames of NetCDF: variables that lie along one dimension, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freestone.errors import MissingColumnError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.cf import FILLS, Decoding, decoding_of, word_of
from freestone.io.formats.netcdf3 import Head
from freestone.io.formats.tables import file_of, foreign, needs
from freestone.io.formats.vlen import is_text
from freestone.io.stores import FileLocation

__all__ = [
    "ClassicColumns",
    "Columns",
    "Look",
    "columns_among",
    "decoded",
    "decoding_among",
    "described",
    "looks_of_group",
    "looks_of_head",
    "some_columns",
]


@dataclass(frozen=True)
class Look:
    """What a file says of a variable: its shape, the paths of its axes, type and attributes."""

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: np.dtype[Any]
    attributes: Mapping[str, Any]
    chunk: int = 1


def looks_of_group(
    group: Any, prefix: str = "", above: Mapping[str, str] | None = None
) -> dict[str, Look]:
    """Return what h5netcdf says of the variables in a group and below it, by their paths.

    Groups have the dimensions of those above them, whose paths are `above`.
    """
    paths = {**(above or {}), **{name: f"{prefix}{name}" for name in group.dimensions}}
    found = {
        f"{prefix}{name}": Look(
            tuple(one.shape),
            tuple(paths.get(axis, f"{prefix}{axis}") for axis in one.dimensions),
            _dtype_of(one),
            one.attrs,
            int(one.chunks[0]) if one.chunks else 1,
        )
        for name, one in group.variables.items()
    }
    for name, below in group.groups.items():
        found |= looks_of_group(below, f"{prefix}{name}/", paths)
    return found


def looks_of_head(head: Head) -> dict[str, Look]:
    """Return what the header of a NetCDF 3 file says of its variables."""
    return {
        name: Look(one.shape, one.axes, np.dtype(one.dtype).newbyteorder("="), one.attributes)
        for name, one in head.variables.items()
    }


def _dtype_of(variable: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(variable.dtype)
        return found
    except TypeError:
        # Of a type that its file defines, which NumPy has not.
        return np.dtype("V1")


# -- which variables ----------------------------------------------------------------------------


def columns_among(
    location: FileLocation, looks: Mapping[str, Look], wanted: Sequence[str], *, decodes: bool
) -> list[str] | None:
    """Return the variables that are the columns of a frame, the coordinate first; None if none are.

    Parameters
    ----------
    location
        The file, for errors.
    looks
        Its variables, by their paths.
    wanted
        Those that the frame has to have: all along their dimension are its columns. Without any, a
        file is a frame if all of its data lie along one dimension, and there are several.
    decodes
        Whether characters are put together to texts.

    Raises
    ------
    MissingColumnError
        When the file has none of those that are wanted.
    UsageError
        When those that are wanted do not lie along one dimension.
    """
    axes = {name: _axis(look, decodes=decodes) for name, look in looks.items()}
    there = [name for name in wanted if name in looks]
    if wanted and not there:
        reason = f'{location.url} has no variable "{wanted[0]}", which columns= asks for'
        raise MissingColumnError("read", reason=reason, columns=list(looks))
    for name in there:
        if axes[name] is None:
            raise UsageError(
                f"{location.url}: {name!r} has the shape {looks[name].shape} and the type "
                f"{looks[name].dtype}, and is no column of a frame; read it by variable={name!r}"
            )
    # Values without an axis, such as what CF calls grid mappings, have no rows.
    data = [name for name, look in looks.items() if look.shape and axes[name] != name]
    along = {axes[name]: name for name in there or data}
    if len(along) != 1 and there:
        shown = ", ".join(f"{name!r} along {axis!r}" for axis, name in along.items())
        raise UsageError(
            f"{location.url}: columns of a frame lie along one dimension, and these do not: {shown}"
        )
    if len(along) != 1 or None in along or (not there and len(data) < 2):
        return None
    (axis,) = along
    own = [name for name in looks if axes[name] == axis]
    return sorted(own, key=lambda name: name != axis)


def some_columns(looks: Mapping[str, Look], *, decodes: bool) -> list[str]:
    """Return the first variables, two at most, that could be columns of one frame; or none."""
    along: dict[str, list[str]] = {}
    for name, look in looks.items():
        axis = _axis(look, decodes=decodes)
        if axis is not None:
            along.setdefault(axis, []).append(name)
    return next((names[:2] for names in along.values() if len(names) > 1), [])


def _axis(look: Look, *, decodes: bool) -> str | None:
    """Return the path of the dimension along which a variable is a column; None if it is none."""
    is_characters = decodes and look.dtype == "S1"
    known = look.dtype.kind in "biufS" or is_text(look.dtype)
    if not known or len(look.shape) != 1 + is_characters:
        return None
    return look.axes[0]


# -- what they hold -----------------------------------------------------------------------------


def described(
    location: FileLocation,
    looks: Mapping[str, Look],
    names: Sequence[str],
    wanted: Sequence[str],
    tick: str | None,
) -> dict[str, Any]:
    """Return what `Columns` takes of some variables; as stored, without `tick`.

    A variable that can't be decoded, for its calendar for example, is left out if others are
    wanted.
    """
    attributes: dict[str, dict[str, Mapping[str, Any]]] = {}
    for path, one in looks.items():
        group, _, own = path.rpartition("/")
        attributes.setdefault(group, {})[own] = one.attributes
    decodings: dict[str, Decoding] = {}
    kept = []
    for name in names:
        look = looks[name]
        if tick and look.dtype.kind in "biufS":
            beside = attributes[name.rpartition("/")[0]]
            try:
                decodings[name] = decoding_among(
                    location, name, look.dtype, look.shape, beside, tick
                )
            except UsageError:
                if not wanted or name in wanted:
                    raise
                continue
        kept.append(name)
    first = looks[kept[0]]
    return {
        "location": location,
        "kind": "frame",
        "rows": int(first.shape[0]),
        "columns": tuple(kept),
        "unit_rows": max(looks[name].chunk for name in kept),
        "row_nbytes": float(sum(looks[name].dtype.itemsize for name in kept)),
        "decodings": decodings,
        "nullable": frozenset(
            name for name in kept if tick and {*FILLS} & {*looks[name].attributes}
        ),
        "meaning": tuple(
            (f"units of {name!r}", word_of(looks[name].attributes.get("units")))
            for name in kept
            if word_of(looks[name].attributes.get("units")) and not _is_time(decodings.get(name))
        ),
    }


def _is_time(decoding: Decoding | None) -> bool:
    return decoding is not None and np.dtype(decoding.dtype).kind in "mM"


def decoding_among(
    location: FileLocation,
    name: str,
    stored: np.dtype[Any],
    shape: tuple[int, ...],
    attributes: Mapping[str, Mapping[str, Any]],
    tick: str,
) -> Decoding:
    """Return how a variable is decoded, by its attributes beside those of the others."""
    own = name.rpartition("/")[2]
    mine = dict(attributes[own])
    for other in attributes.values():
        # The bounds of times need not repeat what the times say.
        if word_of(other.get("bounds")) == own and " since " in word_of(other.get("units")):
            mine = {key: other[key] for key in ("units", "calendar") if key in other} | mine
    return decoding_of(location.url, name, stored, shape, mine, tick)


def decoded(values: Any, decoding: Decoding | None) -> Any:
    """Return what stored values stand for."""
    return values if decoding is None else decoding.decode(values)


# -- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Columns(Dataset):
    """Rows of variables of NetCDF 4 along one dimension, which are the columns of a frame."""

    is_columnar: ClassVar[bool] = True
    decodings: dict[str, Decoding]
    nullable: frozenset[str]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        pa = needs("pyarrow", "arrow", "a frame")
        stored = self._stored(start, stop, threads)
        return pa.table([self._column(name, stored[name]) for name in self.columns], self.columns)

    def _stored(self, start: int, stop: int, threads: int) -> dict[str, Any]:
        h5netcdf = needs("h5netcdf", "hdf5", "NetCDF")
        with foreign(self.location), file_of(self.location) as raw, h5netcdf.File(raw, "r") as file:
            return {name: file[name][start:stop] for name in self.columns}

    def _column(self, name: str, values: Any) -> Any:
        pa = needs("pyarrow", "arrow", "a frame")
        if values.dtype.kind == "O":
            return pa.array(values.tolist(), pa.string())
        # A NaN is a missing value where an attribute says so, and a value where none does.
        found = decoded(np.asarray(values), self.decodings.get(name))
        return pa.array(found, from_pandas=name in self.nullable)

    def select(self, columns: tuple[str, ...]) -> Columns:
        """Return the frame with some of its columns only."""
        names = {f"units of {name!r}" for name in columns}
        meaning = tuple(each for each in self.meaning if each[0] in names)
        return self._with_columns(columns, meaning=meaning)


@dataclass(frozen=True, kw_only=True)
class ClassicColumns(Columns):
    """The same of NetCDF 3: each column has the variable that it is read from."""

    variables: Mapping[str, Dataset]

    def _stored(self, start: int, stop: int, threads: int) -> dict[str, Any]:
        return {name: self.variables[name].read_rows(start, stop, threads) for name in self.columns}
