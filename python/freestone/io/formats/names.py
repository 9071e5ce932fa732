"""Which format a file has, by its name."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from freestone.errors import UsageError, did_you_mean

__all__ = ["FORMATS", "format_of"]

FORMATS = {
    "csv": (".csv",),
    "dbdf": (".dbdf",),
    "mtx": (".mtx",),
    "npy": (".npy",),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
    "zarr": (".zarr",),
    "tdms": (".tdms",),
    "root": (".root",),
}
"""What the name of a file of each format ends in."""


def format_of(name: str, chosen: str | None = None) -> Any:
    """Return the module of a file's format.

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
    """
    if chosen is None:
        # Segments in HDFS are called after the file that they are of.
        lower = re.sub(r"\.hdfs(_segment_\d+)?$", "", name.lower())
        fits = [key for key, ends in FORMATS.items() if lower.endswith(ends)]
        if not fits:
            known = " ".join(end for ends in FORMATS.values() for end in ends)
            raise UsageError(
                f"the name of {name!r} does not say its format; say format=, or end it in {known}"
            )
        chosen = fits[0]
    if chosen not in FORMATS:
        hint = did_you_mean(chosen, FORMATS)
        raise UsageError(f"there is no format {chosen!r}{hint}; there are {', '.join(FORMATS)}")
    return import_module(f"freestone.io.formats.{chosen}")
