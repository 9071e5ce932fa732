"""From a path or URL to what reads or writes it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from freestone.errors import UsageError, did_you_mean
from freestone.io.dataset import Dataset
from freestone.io.formats import format_of
from freestone.io.stores import locate
from freestone.io.telling import telling
from freestone.io.writer import Shape, StreamWriter, Writer

__all__ = ["open_dataset", "open_writer"]


def open_dataset(
    url: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> Dataset:
    """Look at a file: what it holds, and how its rows are read.

    Parameters
    ----------
    url
        A path or URL.
    format
        One of `freestone.io.formats.FORMATS`; by default what the name says.
    **options
        Those of the format.
    """
    place = locate(url)
    module = format_of(place.name, format)
    _check(module.open_dataset, options, f"read {place.url}")
    with telling(place.url):
        found = module.open_dataset(place, **options)
    assert isinstance(found, Dataset)
    return found


def open_writer(
    url: str | os.PathLike[str], shape: Shape, *, format: str | None = None, **options: Any
) -> Writer | StreamWriter:
    """Say how something is written into a file; nothing is written yet.

    Parameters
    ----------
    url
        A path or URL.
    shape
        What is to be written.
    format
        One of `freestone.io.formats.FORMATS`; by default what the name says.
    **options
        Those of the format.
    """
    place = locate(url)
    module = format_of(place.name, format)
    if not hasattr(module, "open_writer"):
        raise UsageError(f"{place.url} can't be written: its format is only read (see the list)")
    _check(module.open_writer, options, f"write {place.url}")
    made = module.open_writer(place, shape, **options)
    assert isinstance(made, Writer | StreamWriter)
    return made


def _check(function: Callable[..., Any], options: dict[str, Any], action: str) -> None:
    """Say clearly which option a format does not have."""
    parameters = inspect.signature(function).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            shown = ", ".join(known) or "none"
            raise UsageError(f"there is no option {name!r} to {action}{hint}; there are: {shown}")


