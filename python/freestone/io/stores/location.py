"""A file of some store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = ["Draft", "FileLocation", "best_of"]


class Draft(ABC):
    """A file that is being written, by any number of processes, and that nobody sees yet.

    Where many processes can write one file, it is pickled and sent to them.
    """

    @abstractmethod
    def write_at(self, data: Any, offset: int) -> None:
        """Write a buffer at an offset."""

    @abstractmethod
    def commit(self) -> None:
        """Make it the file, in place of what was there."""

    @abstractmethod
    def abandon(self) -> None:
        """Remove what was written; what was there stays."""

    @property
    def path(self) -> str | None:
        """The path of a file of this machine; None if it is none."""
        return None

    @property
    def unit(self) -> int:
        """Bytes that one call should not cross; 1 if that makes no difference."""
        return 1


@dataclass(frozen=True)
class FileLocation(ABC):
    """A file of some store, there or not. It is pickled, and sent to those who read and write.

    Another package offers a store as an entry point of the group ``freestone.stores``. Its name is
    the scheme of its URLs, and it leads to a function, or class, that makes a location of a URL;
    `freestone.testing.check_store` tests it.

    Attributes
    ----------
    url : str
        As the user gave it; with it messages name the file.
    """

    url: str
    random: ClassVar[bool] = False
    """Whether many processes can write one file, each at its offset."""
    by_host: ClassVar[bool] = False
    """Whether `hosts` are machines, among which only those of workers matter."""

    is_listed: ClassVar[bool] = False
    """Whether URLs may be patterns, or folders; see `matching`, `is_folder` and `below`.

    Where files can't be listed their names may have any characters.
    """

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.url.rstrip("/").rsplit("/", 1)[-1]

    @property
    def path(self) -> str | None:
        """The path of a file of this machine; None if it is none."""
        return None

    @property
    def is_shared(self) -> bool:
        """Whether other processes reach it; they don't reach what is in this one's memory."""
        return True

    @abstractmethod
    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added."""

    @abstractmethod
    def exists(self) -> bool:
        """Tell whether there is such a file."""

    @abstractmethod
    def stamp(self) -> tuple[Any, ...]:
        """Return what tells one version of the file from another; its size first.

        Raises
        ------
        OSError
            When it is not there, or may not be read.
        """

    @abstractmethod
    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return what the native module reads from: a path, or an object with ``read_at``.

        `stamp` is the version of the file that is meant, so that a store is asked once where it is.
        """

    @abstractmethod
    def read_bytes(self) -> bytes:
        """Return the whole content."""

    @abstractmethod
    def write_bytes(self, data: bytes) -> None:
        """Write a small file, all of it or nothing."""

    def create(self, nbytes: int | None) -> Draft | None:
        """Begin to write the file at any offset; with its size if that is known.

        None where files are written only from their beginning to their end: see `upload`.
        """
        return None

    def upload(self, path: str) -> None:
        """Write the file from one of this machine, all of it or nothing."""
        raise NotImplementedError

    def hosts(self, start: int, stop: int, stamp: tuple[Any, ...] = ()) -> list[str]:
        """Return what holds bytes ``start:stop``, best first; empty if all reach them alike.

        Names of hosts, or of storage targets, of which each is best read by one worker. `stamp` is
        the version of the file that is meant, so that a store is asked once for all its bytes.
        """
        return []

    @property
    def unit(self) -> int:
        """Bytes that one call should not cross, such as a stripe; 1 if that makes no difference."""
        return 1

    def is_folder(self) -> bool:
        """Tell whether this is a folder, where files are listed."""
        return False

    def below(self) -> list[str]:
        """Return the URLs of all files below this folder, where files are listed."""
        raise NotImplementedError

    def matching(self) -> list[str]:
        """Return the URLs of all files that match this pattern, where files are listed."""
        raise NotImplementedError

    @abstractmethod
    def remove(self) -> None:
        """Remove the file if it is there."""


def best_of(held: Mapping[str, int]) -> list[str]:
    """Return those that hold at least three quarters of what the best one holds, best first."""
    most = max(held.values(), default=0)
    good = [name for name, nbytes in held.items() if nbytes and nbytes >= 0.75 * most]
    return sorted(good, key=lambda name: -held[name])
