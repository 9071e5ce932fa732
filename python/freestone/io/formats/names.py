"""Which format a file has, by its name."""

from __future__ import annotations

import functools
import re
from importlib import import_module

from freestone import plugins
from freestone.errors import PluginError, UsageError, did_you_mean
from freestone.io.formats.format import Format

__all__ = ["COMPRESSED", "FORMATS", "GROUP", "format_of", "is_compressed", "says_format"]

FORMATS = {
    "csv": (".csv", ".tsv"),
    "dbdf": (".dbdf",),
    "mtx": (".mtx",),
    "npy": (".npy",),
    "npz": (".npz",),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
    "arrows": (".arrows",),
    "zarr": (".zarr",),
    "tdms": (".tdms",),
    "hdf5": (".h5", ".hdf5"),
    "netcdf": (".nc", ".nc4"),
    "jsonl": (".jsonl", ".ndjson"),
    "orc": (".orc",),
    "avro": (".avro",),
    "root": (".root",),
}
"""What the name of a file of each format of this package ends in."""
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
"""What the names of compressed files end in, after that of their format."""
GROUP = "freestone.formats"
"""The entry points by which other packages offer formats; they can't replace those above."""


def format_of(name: str, chosen: str | None = None) -> Format:
    """Return a file's format.

    Parameters
    ----------
    name
        The file's name.
    chosen
        The format, if the user says it.

    Raises
    ------
    UsageError
        When nothing is known that has such a name.
    PluginError
        When the format is another package's, and can't be used.
    """
    if chosen is None:
        # Segments in HDFS are called after the file that they are of.
        lower = _uncompressed(re.sub(r"\.hdfs(_segment_\d+)?$", "", name.lower()))
        fits = [key for key, ends in FORMATS.items() if lower.endswith(ends)]
        return _built_in(fits[0]) if fits else _others_by_suffix(name, lower)
    if not isinstance(chosen, str):
        raise UsageError(f"format={chosen!r:.80}: give the name of a format, such as 'npy'")
    if chosen in FORMATS:
        return _built_in(chosen)
    if (found := _others(chosen)) is not None:
        return found
    known = [*FORMATS, *plugins.names(GROUP)]
    hint = did_you_mean(chosen, known)
    raise UsageError(f"there is no format {chosen!r}{hint}; there are {', '.join(known)}")


def is_compressed(name: str) -> bool:
    """Tell whether a file's name says that it is compressed, and what is in it."""
    return name.lower().endswith(COMPRESSED) and says_format(name)


def _uncompressed(name: str) -> str:
    """Return a name, in lower case, without what says how the file is compressed."""
    stem, sign, suffix = name.rpartition(".")
    return stem if sign + suffix in COMPRESSED else name


def says_format(name: str) -> bool:
    """Tell whether a file's name says its format."""
    lower = _uncompressed(name.lower())
    if any(lower.endswith(ends) for ends in FORMATS.values()):
        return True
    if not plugins.names(GROUP):
        return False
    try:
        format_of(name)
    except UsageError:
        return False
    return True


@functools.cache
def _built_in(name: str) -> Format:
    found = import_module(f"freestone.io.formats.{name}").FORMAT
    assert isinstance(found, Format)
    return found


def _others(name: str) -> Format | None:
    """Return another package's format of a name."""
    found = plugins.load(GROUP, name, Format)
    if found is not None and found.name != name:
        raise plugins.wrong(GROUP, name, f"is a format called {found.name!r}; give both one name")
    return found


def _others_by_suffix(name: str, lower: str) -> Format:
    """Return another package's format that has files of such a name."""
    fits, broken, suffixes = [], [], [end for ends in FORMATS.values() for end in ends]
    for each in plugins.names(GROUP):
        try:
            found = _others(each)
        except PluginError as error:
            # It may be of no concern to this file.
            broken.append(error)
            continue
        if found is not None:
            suffixes += found.suffixes
            if lower.endswith(found.suffixes):
                fits.append(found)
    if len(fits) == 1:
        return fits[0]
    if fits:
        names = " and ".join(each.name for each in fits)
        raise UsageError(f"the name of {name!r} fits the formats {names}; say which by format=")
    reason = f"the name of {name!r} does not say its format"
    problem = UsageError(f"{reason}; say format=, or end it in {' '.join(suffixes)}")
    for each_broken in broken:
        problem.add_note(f"a format that can't be used: {each_broken}")
    raise problem
