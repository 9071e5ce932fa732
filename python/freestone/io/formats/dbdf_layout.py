"""The numbers and the headers of DBDF."""

from __future__ import annotations

import struct

VERSION = 1
DENSE, SPARSE, FRAME = 1, 2, 3
EMPTY_BLOCK, DENSE_BLOCK, SPARSE_BLOCK = 0, 1, 2
HEAD = struct.Struct("<BBQQ")
BLOCK = struct.Struct("<BQQIIBB")
COUNT = struct.Struct("<Q")
VALUES = HEAD.size + BLOCK.size
TYPES = ("si8", "si32", "si64", "ui8", "ui32", "ui64", "f32", "f64")
MAX_BLOCK = 2**32 - 1
MAX_LABEL = 2**16 - 1
