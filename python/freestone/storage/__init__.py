"""Collections in files: how they are read and written, by one process or by many workers."""

from freestone.storage.reading import read
from freestone.storage.writing import write

__all__ = ["read", "write"]
