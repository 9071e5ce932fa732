"""Where files are."""

from __future__ import annotations

from freestone.io.stores.locating import expanded, locate
from freestone.io.stores.location import Draft, FileLocation

__all__ = ["Draft", "FileLocation", "expanded", "locate"]
