"""Errors that name their file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from freestone.errors import (
    FileError,
    FileMissingError,
    FileUnreadableError,
    FormatError,
    StorageFullError,
)

__all__ = ["telling"]


@contextmanager
def telling(url: str, *, needed: int = 0) -> Iterator[None]:
    """Give errors of the native module and of the system the file's name and freestone's kinds.

    Parameters
    ----------
    url
        The file.
    needed
        Bytes of a file that is written, for a disk that is full; 0 where they are not known.
    """
    try:
        yield
    except FileError as error:
        if not isinstance(error, FormatError) or error.file:
            raise
        raise FormatError(url, error.reason, row=error.row, column=error.column) from None
    except StorageFullError as error:
        if not error.file:
            raise
        # It was told while the draft still took the room.
        raise _full(error.file, error.needed or needed) from None
    except MemoryError as error:
        error.add_note(
            f"in the work on {url}, which needs more memory than there is, or is damaged"
        )
        raise
    except FileNotFoundError:
        folder = os.path.dirname(url)
        is_there = not folder or "://" in url or os.path.isdir(folder)
        raise FileMissingError(url if is_there else folder) from None
    except PermissionError:
        raise FileUnreadableError(
            url, "can't be used; check its permissions, and its folders'"
        ) from None
    except IsADirectoryError:
        raise FileError(url, "is a folder; name a file in it") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            reason = "can't get that large: see 'ulimit -f', or what its file system allows"
            raise FileError(url, reason) from None
        if error.errno is None or isinstance(error, ConnectionError | TimeoutError):
            raise
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise FileError(url, f"can't be used: {os.strerror(error.errno)}") from error
        raise _full(url, needed) from None


def _full(url: str, needed: int) -> StorageFullError:
    folder = os.path.dirname(os.path.abspath(url))
    return StorageFullError(needed=needed, free=_free(folder), folder=folder, file=url)


def _free(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
