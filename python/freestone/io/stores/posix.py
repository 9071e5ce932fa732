"""Files of this machine, and of file systems that are mounted here."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from dataclasses import dataclass
from typing import Any

from freestone import _native
from freestone.errors import FileError
from freestone.io.stores.location import Draft, FileLocation
from freestone.replacing import kind, replaceable

__all__ = ["PosixDraft", "PosixLocation"]

# A file system lets one writer at a time into a file: others come in between.
STEP = 1 << 20


@dataclass(frozen=True)
class PosixLocation(FileLocation):
    """A file with a path.

    A write goes into a new file beside the old one, which takes its name at the end: whoever
    reads sees all of the old one or all of the new one.
    """

    random = True

    @property
    def path(self) -> str:
        """Its absolute path."""
        return self.url if self.url.startswith("/") else os.path.abspath(self.url)

    def beside(self, suffix: str) -> PosixLocation:
        """Return the file whose name has something added."""
        return PosixLocation(self.url + suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return os.path.exists(self.url)

    def stamp(self) -> tuple[Any, ...]:
        """Return its size, inode and time of change."""
        found = os.stat(self.url)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(self.url)
        if not stat.S_ISREG(found.st_mode):
            # A pipe would keep its reader waiting for a writer.
            what = kind(found.st_mode)
            raise FileError(self.url, f"is a {what}, of which no rows can be read apart")
        return found.st_size, found.st_ino, found.st_mtime_ns

    def source(self, stamp: tuple[Any, ...] = ()) -> str:
        """Return its path."""
        return self.path

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        with open(self.url, "rb") as file:
            return file.read()

    def write_bytes(self, data: bytes) -> None:
        """Write a small file, all of it or nothing."""
        draft = self.create(len(data))
        try:
            draft.write_at(data, 0)
            draft.commit()
        except BaseException:
            draft.abandon()
            raise

    def create(self, nbytes: int | None) -> PosixDraft:
        """Begin to write the file."""
        draft = PosixDraft(*self.draft_paths())
        draft.begin(nbytes)
        return draft

    def draft_paths(self) -> tuple[str, str]:
        """Return the path of the file that a write replaces, and that of a new one beside it.

        Raises
        ------
        IsADirectoryError, FileError
            When something else than a file has that name.
        """
        target = replaceable(self.url)
        folder, name = os.path.split(target)
        return target, os.path.join(folder, f".{name}.{uuid.uuid4().hex[:12]}.part")

    def remove(self) -> None:
        """Remove the file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.url)


@dataclass(frozen=True)
class PosixDraft(Draft):
    """A file that is being written beside the one that it will replace."""

    target: str
    part: str

    @property
    def path(self) -> str:
        """Where it is until it takes its name."""
        return self.part

    def begin(self, nbytes: int | None) -> None:
        """Make it, of its final size if that is known, with the rights of what it replaces."""
        descriptor = os.open(self.part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(descriptor, stat.S_IMODE(os.stat(self.target).st_mode))
            if nbytes:
                os.ftruncate(descriptor, nbytes)
        except BaseException:
            os.unlink(self.part)
            raise
        finally:
            os.close(descriptor)

    def write_at(self, data: Any, offset: int) -> None:
        """Write a buffer at an offset."""
        descriptor, unit = os.open(self.part, os.O_WRONLY), self.unit
        try:
            view = memoryview(data).cast("B")
            while len(view):
                room = unit - offset % unit if unit > 1 else STEP
                count = os.pwrite(descriptor, view[:room], offset)
                _native.io.io_count(written=count)
                view, offset = view[count:], offset + count
        finally:
            os.close(descriptor)

    def commit(self) -> None:
        """Give it its name."""
        os.replace(self.part, self.target)

    def abandon(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            os.unlink(self.part)
