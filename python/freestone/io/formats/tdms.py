"""TDMS, by nptdms: groups of channels.

A file of one group is a frame with a column for each channel; of several groups `group` says
which. Options of a read: `group`, and `kind` (``"array"`` for channels that are all numbers). Of a
write: `group`, its name. A matrix is written as a group with a channel for each column, as DAPHNE
does.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import file_of, foreign, needs, table_of, to_matrix
from freestone.io.raw import dtype_reported
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

MARK = "freestone_dtype"
_NUMBERS = "biufc"
# Tag, table of contents, version, bytes to the next segment, bytes to the values.
LEAD_IN = struct.Struct("<4sLLQQ")
TAG = b"TDSm"
BIG_ENDIAN = 1 << 6
EPOCH = np.datetime64("1904-01-01", "us")
SCALES = "NI_Number_Of_Scales"


@dataclass(frozen=True, kw_only=True)
class Channels(Dataset):
    """Rows of the channels of one group."""

    group: str
    channels: tuple[str, ...]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        with _opened(self.location) as file:
            group = file[self.group]
            channels = [group[name] for name in self.channels]
            parts = [channel.read_data(start, stop - start) for channel in channels]
            if self.kind == "array" and np.dtype(self.dtype).kind in _NUMBERS:
                return np.column_stack(parts).astype(str(self.dtype), copy=False)
            pa = needs("pyarrow", "arrow", "a frame")
            types = [channel.data_type for channel in channels]
            columns = [_column(*pair) for pair in zip(parts, types, strict=True)]
            table = pa.table(columns, names=list(self.channels))
            return table if self.kind == "frame" else to_matrix(table, str(self.dtype))


def _column(values: Any, kind: Any) -> Any:
    pa = needs("pyarrow", "arrow", "a frame")
    if kind is needs("nptdms.types", "tdms", "TDMS").String:
        return pa.array(values, pa.string())
    return pa.array(_times(values) if hasattr(values, "second_fractions") else values)


def _times(values: Any) -> Any:
    """Return times to the nearest microsecond; the library cuts off, and is one less."""
    half = np.uint64(32)
    fractions = (values.second_fractions.astype(np.uint64) >> half) * np.uint64(10**6)
    microseconds = ((fractions + np.uint64(1 << 31)) >> half).astype("m8[us]")
    return EPOCH + values.seconds.astype("m8[s]") + microseconds


def open_dataset(
    location: FileLocation, *, group: str | None = None, kind: str | None = None
) -> Dataset:
    """Read the metadata of a TDMS file."""
    needs("nptdms", "tdms", "TDMS")
    stamp = location.stamp()
    with _opened(location) as file:
        groups = {each.name: each for each in file.groups()}
        name = _chosen(location, list(groups), group)
        channels = groups[name].channels()
        lengths = {channel.name: len(channel) for channel in channels}
        types = [channel.dtype for channel in channels]
        marked_dtype = groups[name].properties.get(MARK)
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{channel!r} {length:,}" for channel, length in lengths.items())
        raise FormatError(
            location.url, f"channels of group {name!r} are of several lengths: {shown}"
        )
    rows = next(iter(lengths.values()), 0)
    common: dict[str, Any] = {
        "location": location,
        "stamp": stamp,
        "rows": rows,
        "row_nbytes": stamp[0] / max(rows, 1),
        "group": name,
        "channels": tuple(lengths),
    }
    if kind == "frame" or (kind is None and marked_dtype is None) or not types:
        return Channels(kind="frame", columns=tuple(lengths), **common)
    dtype = (
        dtype_reported(location.url, marked_dtype)
        if marked_dtype is not None
        else np.result_type(*types)
    )
    if marked_dtype is None and dtype.kind not in _NUMBERS:
        raise UsageError("not all channels are numbers; read it with kind='frame'")
    return Channels(kind="array", columns=(len(lengths),), dtype=dtype.str, **common)


@contextlib.contextmanager
def _opened(location: FileLocation) -> Iterator[Any]:
    """Open a file whose segments are all there."""
    tdms = needs("nptdms", "tdms", "TDMS")
    with foreign(location), file_of(location) as raw:
        _check_segments(location, raw)
        with tdms.TdmsFile.open(raw, raw_timestamps=True) as file:
            _check_scales(location, file)
            yield file


def _check_segments(location: FileLocation, raw: Any) -> None:
    """Raise `FormatError` unless segments follow one another up to the end of the file.

    The library reads what there is of a file that is cut off, as if it had been all.
    """
    nbytes, at = raw.seek(0, os.SEEK_END), 0
    while at < nbytes:
        raw.seek(at)
        lead_in = raw.read(LEAD_IN.size)
        if len(lead_in) < LEAD_IN.size or lead_in[:4] != TAG:
            reason = f"byte {at:,}: no segment begins here (truncated, or foreign)"
            raise FormatError(location.url, reason)
        order = ">" if lead_in[4] & BIG_ENDIAN else "<"
        (length,) = struct.unpack_from(f"{order}Q", lead_in, 12)
        if at + LEAD_IN.size + length > nbytes:
            reason = f"byte {at:,}: a segment that goes on behind the end of the file (truncated)"
            raise FormatError(location.url, reason)
        at += LEAD_IN.size + length
    raw.seek(0)


def _check_scales(location: FileLocation, file: Any) -> None:
    """Raise `FormatError` if there are more scales than are described, since all are looked for."""
    for group in file.groups():
        for holder in (file, group, *group.channels()):
            count = holder.properties.get(SCALES, 0)
            if not isinstance(count, int) or not 0 <= count <= len(holder.properties):
                reason = f"{SCALES} is {count!r}, and there are {len(holder.properties)} properties"
                raise FormatError(location.url, reason)


def _chosen(location: FileLocation, groups: list[str], group: str | None) -> str:
    if group is None and len(groups) == 1:
        return groups[0]
    if group in groups:
        return str(group)
    if not groups:
        raise FormatError(location.url, "it has no groups (foreign, or cut off?)")
    shown = ", ".join(map(repr, groups))
    raise UsageError(f"{location.url} has the groups {shown}; say group=")


def open_writer(location: FileLocation, shape: Shape, *, group: str = "freestone") -> StreamWriter:
    """Write one group: a channel for each column, a segment for each block."""
    needs("nptdms", "tdms", "TDMS")
    needs("pyarrow", "tdms", "TDMS")
    needs_columns(location, shape)
    return TdmsWriter(location=location, shape=shape, group=group)


@dataclass(frozen=True, kw_only=True)
class TdmsWriter(StreamWriter):
    """A segment for each block."""

    group: str

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        tdms = needs("nptdms", "tdms", "TDMS")
        file = tdms.TdmsWriter(path)
        file.open()
        properties = {} if self.shape.kind == "frame" else {MARK: str(self.shape.dtype)}
        file.write_segment([tdms.GroupObject(self.group, properties=properties)])
        return file

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        tdms = needs("nptdms", "tdms", "TDMS")
        table = table_of(block, self.shape)
        file.write_segment(
            [
                tdms.ChannelObject(self.group, name, _values(name, column))
                for name, column in zip(table.schema.names, table.columns, strict=True)
            ]
        )


def _values(name: str, column: Any) -> Any:
    _require_form(name, column)
    if column.null_count:
        raise UsageError(
            f"column {name!r} has missing values, for which TDMS has no form; fill them"
        )
    values = column.to_numpy()
    if values.dtype.kind == "M" and (values != values.astype("M8[us]")).any():
        raise UsageError(
            f"column {name!r} has nanoseconds, which nptdms cuts off; round it to microseconds"
        )
    return values


def _require_form(name: str, column: Any) -> None:
    types = needs("pyarrow", "arrow", "a frame").types
    kind = column.type
    if types.is_timestamp(kind) and kind.tz is not None:
        raise UsageError(
            f"column {name!r} has the time zone {kind.tz}, for which TDMS has no form; convert it "
            "to UTC and drop the zone"
        )
    is_binary = types.is_binary(kind) or types.is_large_binary(kind)
    if is_binary or types.is_fixed_size_binary(kind) or types.is_nested(kind):
        raise UsageError(
            f"column {name!r} of type {kind} can't be written as TDMS, which has numbers, "
            "texts and times; leave it out, or write the frame as parquet"
        )


FORMAT = Format(
    name="tdms",
    suffixes=(".tdms",),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
