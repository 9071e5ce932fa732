"""TDMS, by nptdms: groups of channels.

A file of one group is a frame with a column for each channel; of several groups `group` says
which. Options of a read: `group`, and `kind` (``"array"`` for channels that are all numbers). Of a
write: `group`, its name. A matrix is written as a group with a channel for each column, as DAPHNE
does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.tables import foreign, needs, opened, table_of
from freestone.io.stores import Place
from freestone.io.writer import Shape, StreamWriter

__all__ = ["open_dataset", "open_writer"]

MARK = "freestone_dtype"


@dataclass(frozen=True, kw_only=True)
class Channels(Dataset):
    """Rows of the channels of one group."""

    group: str
    channels: tuple[str, ...]

    def _read(self, start: int, stop: int, threads: int) -> Any:
        with _opened(self.place) as file:
            group = file[self.group]
            parts = [group[name].read_data(start, stop - start) for name in self.channels]
        lengths = {len(part) for part in parts} or {stop - start}
        if lengths != {stop - start}:
            reason = f"it has {min(lengths)} of rows {start}:{stop} (truncated)"
            raise FormatError(self.place.url, reason)
        if self.kind == "array":
            return np.column_stack(parts).astype(str(self.dtype), copy=False)
        import pyarrow as pa

        return pa.table([pa.array(part) for part in parts], names=list(self.channels))


def open_dataset(place: Place, *, group: str | None = None, kind: str | None = None) -> Dataset:
    """Read the metadata of a TDMS file."""
    needs("nptdms", "tdms", "TDMS")
    stamp = place.stamp()
    with _opened(place) as file:
        groups = {each.name: each for each in file.groups()}
        name = _chosen(place, list(groups), group)
        channels = groups[name].channels()
        lengths = {channel.name: len(channel) for channel in channels}
        types = [channel.dtype for channel in channels]
        said = groups[name].properties.get(MARK)
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{channel!r} {length:,}" for channel, length in lengths.items())
        raise FormatError(place.url, f"channels of group {name!r} are of several lengths: {shown}")
    rows = next(iter(lengths.values()), 0)
    common: dict[str, Any] = {
        "place": place,
        "stamp": stamp,
        "rows": rows,
        "row_nbytes": stamp[0] / max(rows, 1),
        "group": name,
        "channels": tuple(lengths),
    }
    if kind == "frame" or (kind is None and said is None) or not types:
        return Channels(kind="frame", columns=tuple(lengths), **common)
    dtype = np.dtype(said) if said is not None else np.result_type(*types)
    if dtype.kind not in "biufc":
        raise UsageError("not all channels are numbers; read it as a frame, without kind='array'")
    return Channels(kind="array", columns=(len(lengths),), dtype=dtype.str, **common)


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[Any]:
    """Open a file; the library leaves one open that it does not understand."""
    tdms = needs("nptdms", "tdms", "TDMS")
    found = opened(place)
    with (
        foreign(place),
        open(found, "rb") if isinstance(found, str) else found as raw,
        tdms.TdmsFile.open(raw) as file,
    ):
        yield file


def _chosen(place: Place, groups: list[str], group: str | None) -> str:
    if group is None and len(groups) == 1:
        return groups[0]
    if group in groups:
        return str(group)
    if not groups:
        raise FormatError(place.url, "it has no groups (foreign, or cut off?)")
    shown = ", ".join(map(repr, groups))
    raise UsageError(f"{place.url} has the groups {shown}; say group=")


def open_writer(place: Place, shape: Shape, *, group: str = "freestone") -> StreamWriter:
    """Write one group: a channel for each column, a segment for each block."""
    needs("nptdms", "tdms", "TDMS")
    return TdmsWriter(place=place, shape=shape, group=group)


@dataclass(frozen=True, kw_only=True)
class TdmsWriter(StreamWriter):
    """A segment for each block."""

    group: str

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        tdms = needs("nptdms", "tdms", "TDMS")
        file = tdms.TdmsWriter(path)
        file.open()
        said = {} if self.shape.kind == "frame" else {MARK: str(self.shape.dtype)}
        file.write_segment([tdms.GroupObject(self.group, properties=said)])
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
    if column.null_count:
        raise UsageError(
            f"column {name!r} has missing values, for which TDMS has no form; fill them"
        )
    return column.to_numpy()
