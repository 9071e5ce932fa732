"""Collections: arrays, frames and bags cut into blocks."""

from __future__ import annotations

from freestone.collections.array import Array
from freestone.collections.bag import Bag
from freestone.collections.frame import Frame
from freestone.collections.reading import read
from freestone.collections.writing import write

__all__ = ["Array", "Bag", "Frame", "read", "write"]
