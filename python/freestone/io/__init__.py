"""Files: formats by stores. Rows are the unit, so that each worker reads and writes its own part.

A `Dataset` says what a file holds and reads any of its rows; a `Writer` writes blocks of rows into
one file, or into segments of it, from many processes at once. `freestone.read` and
`freestone.write` make collections of them. Other packages add formats, each a `Format`.
"""

from __future__ import annotations

from freestone.io.dataset import Dataset
from freestone.io.formats import Format
from freestone.io.opening import open_dataset, open_writer
from freestone.io.raw import read_values
from freestone.io.stores import Draft, FileLocation
from freestone.io.writer import Shape, StreamWriter, Writer

__all__ = [
    "Dataset",
    "Draft",
    "FileLocation",
    "Format",
    "Shape",
    "StreamWriter",
    "Writer",
    "open_dataset",
    "open_writer",
    "read_values",
]
