"""From a path or URL to what reads or writes it."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from freestone import plugins
from freestone.errors import FileMissingError, FormatError, UsageError, did_you_mean
from freestone.errors.habits import OF_READING
from freestone.io.dataset import Dataset
from freestone.io.decoded import CompressedLocation, DecodedLocation
from freestone.io.formats import Format, format_of
from freestone.io.formats.names import COMPRESSED, FORMATS, GROUP, is_compressed
from freestone.io.formats.zarr import FolderWriter
from freestone.io.stores import FileLocation, locate
from freestone.io.telling import telling
from freestone.io.writer import Shape, StreamWriter, Writer

if TYPE_CHECKING:
    from freestone.io.segment_writer import SegmentWriter
    from freestone.io.stores.hdfs import HdfsLocation
    from freestone.io.stores.lustre import LustreLocation

__all__ = ["open_dataset", "open_writer"]

KINDS = ("array", "frame")
# Options of all formats, which an error has in mind, too.
OF_READS = ("columns", "where", "missing_columns", "format", "block_rows", "progress")
# What an advice begins with is an option that the format has to have.
ADVISED = re.compile(r"write (\w+)=")
# What each format calls that of several members of a file which is meant.
MEMBERS = ("array", "dataset", "group", "tree", "variable")
OF_WRITES = ("format", "progress", "stripe_count", "stripe_size", "pool")


def open_dataset(
    url: str | os.PathLike[str],
    *,
    format: str | None = None,
    whole: bool = False,
    matrix: bool = True,
    wanted_columns: tuple[str, ...] = (),
    **options: Any,
) -> Dataset:
    """Look at a file: what it holds, and how its rows are read.

    Parameters
    ----------
    url
        A path or URL.
    format
        One of `freestone.io.formats.FORMATS`; by default what the name says.
    whole
        Whether this process is about to read all rows: what a first pass fetches of a file that
        is far away is then kept for the second, up to `freestone.io.held.MAX_HELD` bytes.
    matrix
        Whether an array of more than two dimensions is refused.
    wanted_columns
        The columns that are wanted, if any are named.
    **options
        Those of the format.
    """
    location = locate(url)
    try:
        found = format_of(location.name, format)
    except UsageError:
        # A name that says no format may be a mistake: then there is no such file.
        if location.path is not None and not os.path.lexists(location.path):
            raise FileMissingError(location.url) from None
        raise
    _check("open_dataset", found, options, f"read {location.url}", OF_READS, OF_READING)
    kind = options.get("kind")
    if kind not in (None, *KINDS):
        raise UsageError(f"kind={kind!r}: a file is read as {' or as '.join(map(repr, KINDS))}")
    folder = _folder(location)
    if folder is not None:
        from freestone.io.segments import check_reported, open_segments

        with telling(location.url):
            segments = open_segments(folder, found, options)
            if folder is not location:
                check_reported(location, segments)
            _check_matrix(segments)
            return segments
    path = location.path
    if is_compressed(location.name):
        location = _decompressed(location, found)
    words = (location, *[whole] * (found.passes > 1), *[wanted_columns] * found.takes_names)
    with telling(location.url):
        dataset = found.open_dataset(*words, **options)
    if not isinstance(dataset, Dataset):
        raise _wrong(found, "open_dataset", dataset, "a Dataset")
    if isinstance(dataset.location, DecodedLocation) and not dataset.location.is_cut:
        # Whoever reads some rows decodes them all.
        dataset = replace(dataset, unit_rows=max(dataset.rows, 1))
    if matrix:
        _check_matrix(dataset)
    return replace(dataset, inode_changed=_inode_changed(path))


def _inode_changed(path: str | None) -> int:
    """Return when the inode of a local file last changed; 0 of another or of none."""
    try:
        return 0 if path is None else os.stat(path).st_ctime_ns
    except OSError:
        return 0


def _decompressed(location: FileLocation, format: Format) -> CompressedLocation:
    if not format.is_text:
        reason = f"{format.name} is not read from a compressed file; decompress it first"
        raise UsageError(f"{location.url}: {reason}")
    return CompressedLocation(location.url, location)


def _check_matrix(dataset: Dataset) -> None:
    """Raise `FormatError` for an array of more than two dimensions."""
    if dataset.kind == "array" and len(dataset.columns) > 1:
        shape = (dataset.rows, *dataset.columns)
        reason = f"an array of shape {shape}; it has to be of 1 or 2 dimensions"
        raise FormatError(dataset.location.url, reason)


def open_writer(
    url: str | os.PathLike[str],
    shape: Shape,
    *,
    format: str | None = None,
    stripe_count: int | None = None,
    stripe_size: int | str | None = None,
    pool: str | None = None,
    **options: Any,
) -> Writer | StreamWriter | SegmentWriter | FolderWriter:
    """Say how something is written into a file; nothing is written yet.

    Parameters
    ----------
    url
        A path or URL.
    shape
        What is to be written.
    format
        One of `freestone.io.formats.FORMATS`; by default what the name says.
    stripe_count, stripe_size, pool
        How a file on Lustre is spread: over how many storage targets (-1: all), bytes on one
        before the next one's turn, and of which targets; the folder's own by default.
    **options
        Those of the format.
    """
    location = locate(url)
    if (stripe_count, stripe_size, pool) != (None, None, None):
        location = _striped(location, stripe_count, stripe_size, pool)
    found = format_of(location.name, format)
    if location.name.lower().endswith(COMPRESSED):
        raise UsageError(
            f"{location.url}: files are not written compressed; write "
            f"{location.name.rsplit('.', 1)[0]}, and compress that"
        )
    if found.open_writer is None:
        raise UsageError(f"{location.url} can't be written: its format, {found.name}, is only read")
    _check("open_writer", found, options, f"write {location.url}", OF_WRITES, {})
    folder = _folder(location)
    if folder is not None or not found.any_dimensions:
        _check_dimensions(location, shape)
    if folder is not None:
        from freestone.io.segment_writer import SegmentWriter

        if options.get("symmetry", "general") != "general":
            raise UsageError("a segment has some rows, and no half of them; leave symmetry out")
        local = None if folder is location else location
        return SegmentWriter(
            location=folder, local=local, shape=shape, format=found.name, options=options
        )
    made = found.open_writer(location, shape, **options)
    if not isinstance(made, Writer | StreamWriter | FolderWriter):
        raise _wrong(found, "open_writer", made, "a Writer or StreamWriter")
    return made


def _wrong(format: Format, function: str, found: object, wanted: str) -> Exception:
    """Return the error of a format that gives something else than its contract says."""
    reason = f"{function} returns what is of type {type(found).__name__}; it has to return {wanted}"
    if format.name in plugins.names(GROUP):
        return plugins.wrong(GROUP, format.name, reason)
    return TypeError(f"the format {format.name!r}: {reason}")


def _check_dimensions(location: FileLocation, shape: Shape) -> None:
    """Raise `UsageError` for an array that a format of rows and columns can't hold."""
    if shape.kind == "array" and len(shape.columns) > 1:
        whole = (shape.rows, *shape.columns)
        raise UsageError(
            f"{location.url}: an array of shape {whole} has no form here, where arrays have 1 or 2 "
            "dimensions; write it as npy or zarr"
        )


def _striped(
    location: FileLocation, count: Any, size: int | str | None, pool: Any
) -> LustreLocation:
    from freestone.io.stores.lustre import Layout, LustreLocation, is_lustre
    from freestone.units import parse_nbytes

    if location.path is None or not is_lustre(location.path):
        raise UsageError(f"{location.url} is not on Lustre, so it has no stripes; leave them out")
    if not isinstance(count, int | None):
        raise UsageError(f"stripe_count={count!r}: it is -1 (all), 0 (default) or more")
    nbytes, pool = 0 if size is None else parse_nbytes(size), None if pool is None else str(pool)
    return LustreLocation(
        location.url, Layout(stripe_count=count or 0, stripe_size=nbytes, pool=pool)
    )


def _folder(location: FileLocation) -> HdfsLocation | None:
    """Return the folder of segments that a name with ``.hdfs`` at its end stands for."""
    if not location.name.endswith(".hdfs"):
        return None
    from freestone.io.segments import segments_of

    return segments_of(location)


def _check(
    door: Literal["open_dataset", "open_writer"],
    format: Format,
    options: dict[str, Any],
    action: str,
    general: Sequence[str],
    habits: Mapping[str, str],
) -> None:
    """Say clearly which option a format does not have, nor all of them."""
    for name in options:
        known = _options(door, format)
        if name not in known:
            there = [*known, *general]
            advice = habits.get(name, "")
            option = ADVISED.match(advice)
            if not advice or (option is not None and option[1] not in there):
                advice = _instead(door, name, there)
            shown = "; ".join([*[advice] * bool(advice), f"there are: {', '.join(there)}"])
            raise UsageError(f"there is no option {name!r} to {action}; {shown}")


def _instead(door: str, name: str, there: Sequence[str]) -> str:
    """Return what to write instead of an option that a format does not have, or who has it."""
    member = next((each for each in there if each in MEMBERS), None)
    if name in MEMBERS and member is not None:
        return f"write {member}="
    others = _of_others(door, name)
    close = did_you_mean(name, there).removeprefix("; ")
    return others if others.startswith("it is") else close or others


def _options(door: str, format: Format) -> list[str]:
    """Return the options of reading a format, or of writing it."""
    function: Callable[..., Any] | None = getattr(format, door)
    if function is None:
        return []
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]


def _of_others(door: str, name: str) -> str:
    """Return which formats of this package have an option, or one like it; nothing if none has."""
    having: dict[str, list[str]] = {}
    for other in FORMATS:
        for each in _options(door, format_of("", other)):
            having.setdefault(each, []).append(other)
    if name in having:
        return f"it is an option of {', '.join(having[name])}"
    hint = did_you_mean(name, sorted(having)).removeprefix("; ").removesuffix("?")
    close = next((each for each in having if hint.endswith(repr(each))), None)
    return f"{hint}, an option of {', '.join(having[close])}?" if close is not None else ""
