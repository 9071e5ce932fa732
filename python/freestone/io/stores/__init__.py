"""Where files are."""

from __future__ import annotations

from freestone.io.stores.locating import locate
from freestone.io.stores.place import Draft, Place

__all__ = ["Draft", "Place", "locate"]
