"""Collections: arrays, frames and bags cut into blocks."""

from __future__ import annotations

from freestone.collections.array import Array

__all__ = ["Array"]
