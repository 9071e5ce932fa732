"""Folders that take their names when all of them is there."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import uuid
from collections.abc import Callable, Iterator

from freestone.errors import FileError
from freestone.io.stores import FileLocation

__all__ = ["drafted_folder"]

# Of Linux: paths are those of the process, and both names stay.
HERE, EXCHANGE = -100, 2


@contextlib.contextmanager
def drafted_folder(
    location: FileLocation, noun: str, may_replace: Callable[[str], bool] | None
) -> Iterator[str]:
    """Give the path of a folder that becomes that of a location unless the block raises.

    Parameters
    ----------
    location
        Where it will be: a path.
    noun
        What it will hold, for messages.
    may_replace
        Tells of a folder that is there, and has something in it, whether it is one of these; None
        if none is replaced.

    Raises
    ------
    FileError
        When something else is there.
    """
    target = os.path.realpath(str(location.path))
    if os.path.exists(target) and not os.path.isdir(target):
        raise FileError(location.url, f"is a file, and the {noun} is a folder; remove it first")
    entries = os.listdir(target) if os.path.exists(target) else []
    if entries and may_replace is None:
        raise FileError(
            location.url,
            f"is a folder that is there already, with {entries[0]!r} in it; give the {noun} "
            "another name, or remove it first",
        )
    if entries and may_replace is not None and not may_replace(target):
        raise FileError(location.url, f"is a folder that is no {noun}; remove it first")
    folder, name = os.path.split(target)
    part = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:12]}.part")
    old = f"{part}.old"
    try:
        yield part
        if not os.path.exists(target):
            os.rename(part, target)
        elif not _exchanged(part, target):
            os.rename(target, old)
            os.rename(part, target)
    except BaseException:
        if os.path.exists(old):
            os.rename(old, target)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: str, other: str) -> bool:
    """Let two folders change their names at once; False where the file system can't."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)
