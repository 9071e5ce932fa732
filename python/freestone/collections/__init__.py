"""Collections: arrays, frames and bags cut into blocks."""

from freestone.collections.array import Array
from freestone.collections.bag import Bag
from freestone.collections.frame import Frame

__all__ = ["Array", "Bag", "Frame"]
