"""A file that is far away, and whose bytes are here: what is read twice is fetched once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FileChangedError
from freestone.io.raw import read_values
from freestone.io.stores import FileLocation

__all__ = ["MAX_HELD", "fetched"]

MAX_HELD = 256 << 20


@dataclass(frozen=True)
class HeldLocation(FileLocation):
    """A file of a store, and the bytes that it had."""

    location: FileLocation
    content: Any
    seen: tuple[Any, ...]

    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added; in the store."""
        return self.location.beside(suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self.location.exists()

    def stamp(self) -> tuple[Any, ...]:
        """Return what tells its version.

        Raises
        ------
        FileChangedError
            When it is no longer the one whose bytes are here.
        """
        found = self.location.stamp()
        if found != self.seen:
            raise FileChangedError(self.url, "its size or time of change differs")
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the bytes: elsewhere it is the file in its store."""
        return _itself, (self.location,)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return the bytes."""
        return self.content

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        return bytes(self.content)

    def write_bytes(self, data: bytes) -> None:
        """Write the file in its store."""
        self.location.write_bytes(data)

    def remove(self) -> None:
        """Remove it from its store."""
        self.location.remove()


def _itself(location: FileLocation) -> FileLocation:
    return location


def fetched(location: FileLocation, stamp: tuple[Any, ...]) -> FileLocation:
    """Fetch a file that is far away, several ranges at once; a larger one stays where it is.

    Parameters
    ----------
    location
        The file.
    stamp
        The version that is meant.

    Returns
    -------
    FileLocation
        The file with its bytes; `location` itself if it is on this machine, or has more than
        `MAX_HELD` bytes.
    """
    nbytes = int(stamp[0])
    if location.path is not None or not 0 < nbytes <= MAX_HELD:
        return location
    content = read_values(location.source(stamp), 0, (nbytes,), np.uint8)
    return HeldLocation(location.url, location, content, stamp)
