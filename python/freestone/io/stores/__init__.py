"""Where files are."""

from __future__ import annotations

from freestone.io.stores.place import Draft, Place, locate

__all__ = ["Draft", "Place", "locate"]
