"""What a format is: how its files are named, read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freestone.io.dataset import Dataset
    from freestone.io.formats.zarr import FolderWriter
    from freestone.io.writer import StreamWriter, Writer

__all__ = ["Format"]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format, as `freestone.read` and `freestone.write` use it.

    Another package offers one as an entry point of the group ``freestone.formats``, whose name is
    that of the format; `freestone.testing.check_format` tests it.

    Attributes
    ----------
    name : str
        What ``format=`` calls it.
    suffixes : tuple of str
        What the names of its files end in, such as ``(".npy",)``; in lower case.
    open_dataset : callable
        ``open_dataset(place, **options) -> Dataset`` reads a file's head. Its keyword-only
        parameters are the options of `freestone.read`.
    open_writer : callable or None
        ``open_writer(place, shape, **options) -> Writer or StreamWriter`` plans a file; nothing is
        written yet. Its keyword-only parameters are the options of `freestone.write`. None of a
        format that is only read.
    any_dimensions : bool
        Whether arrays of more than two dimensions can be written.
    passes : int
        How often a file is read as a whole; if more than once, ``open_dataset(place, whole)`` is
        given whether this process is about to read all rows.
    is_text : bool
        Whether a file may be compressed as a whole, as ``.gz`` and the like say; it is then
        decompressed by each process that reads it.
    takes_names : bool
        Whether a file may be a frame of the columns that a read names, and an array otherwise:
        ``open_dataset(place, names)`` is then given those names, if there are any.
    write_histograms : callable or None
        ``write_histograms(path, histograms)`` writes those of a dict into a new file.
    """

    name: str
    suffixes: tuple[str, ...]
    open_dataset: Callable[..., Dataset]
    open_writer: Callable[..., Writer | StreamWriter | FolderWriter] | None = None
    any_dimensions: bool = False
    passes: int = 1
    is_text: bool = False
    takes_names: bool = False
    write_histograms: Callable[[str, dict[str, Any]], None] | None = None
