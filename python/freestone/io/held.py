"""A file that is far away, and whose bytes are here: what is read twice is fetched once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FileChangedError
from freestone.io.raw import read_values
from freestone.io.stores import Place

__all__ = ["MAX_HELD", "fetched"]

MAX_HELD = 256 << 20


@dataclass(frozen=True)
class HeldPlace(Place):
    """A file of a store, and the bytes that it had."""

    place: Place
    content: Any
    seen: tuple[Any, ...]

    def beside(self, suffix: str) -> Place:
        """Return the file whose name has something added; in the store."""
        return self.place.beside(suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self.place.exists()

    def stamp(self) -> tuple[Any, ...]:
        """Return what tells its version.

        Raises
        ------
        FileChangedError
            When it is no longer the one whose bytes are here.
        """
        found = self.place.stamp()
        if found != self.seen:
            raise FileChangedError(self.url, "its size or time of change differs")
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the bytes: elsewhere it is the file in its store."""
        return _itself, (self.place,)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return the bytes."""
        return self.content

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        return bytes(self.content)

    def write_bytes(self, data: bytes) -> None:
        """Write the file in its store."""
        self.place.write_bytes(data)

    def remove(self) -> None:
        """Remove it from its store."""
        self.place.remove()


def _itself(place: Place) -> Place:
    return place


def fetched(place: Place, stamp: tuple[Any, ...]) -> Place:
    """Fetch a file that is far away, several ranges at once; a larger one stays where it is.

    Parameters
    ----------
    place
        The file.
    stamp
        The version that is meant.

    Returns
    -------
    Place
        The file with its bytes; `place` itself if it is on this machine, or has more than
        `MAX_HELD` bytes.
    """
    nbytes = int(stamp[0])
    if place.path is not None or not 0 < nbytes <= MAX_HELD:
        return place
    content = read_values(place.source(stamp), 0, (nbytes,), np.uint8)
    return HeldPlace(place.url, place, content, stamp)
