"""Lustre, wherever it is mounted: striping at creation, calls that touch one storage target.

The layout of a file is set when it is made, by ``liblustreapi`` where that can be loaded, else by
the program ``lfs``. All else is POSIX.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from freestone.errors import FileError, UsageError
from freestone.io.stores.location import best_of
from freestone.io.stores.posix import PosixDraft, PosixLocation

__all__ = ["Layout", "LustreDraft", "LustreLocation", "is_lustre", "layout_of", "mounts_read_once"]

LIBRARIES = ("liblustreapi.so.1", "liblustreapi.so")
MOUNTS = "/proc/self/mounts"
_kept: ContextVar[str | None] = ContextVar("mounts", default=None)
UNIT = 1 << 16
MAX_LAYOUT = 1 << 16
LAYOUT_WITH_POOL = 0x0BD30BD0
LAYOUT_PLAIN = 0x0BD10BD0
COMPONENTS = "lcm_entry_count"
REPORTED_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a file is spread over storage targets.

    Attributes
    ----------
    stripe_count : int
        Over how many; 0 is the file system's default, -1 all.
    stripe_size : int
        Bytes on one before the next one's turn; 0 is the default.
    pool : str or None
        Of which targets.
    targets : tuple of int
        Which ones, of a file that is there.
    """

    stripe_count: int = 0
    stripe_size: int = 0
    pool: str | None = None
    targets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.stripe_size < 0 or self.stripe_size % UNIT:
            raise UsageError(
                f"stripe_size={self.stripe_size:,}: it is a multiple of {UNIT:,} bytes"
            )
        if self.stripe_count < -1:
            raise UsageError(
                f"stripe_count={self.stripe_count}: it is -1 (all), 0 (default) or more"
            )


def is_lustre(path: str) -> bool:
    """Tell whether a path is on a Lustre file system that is mounted here."""
    text = _mounted() if _kept.get() is None else _kept.get() or ""
    if "lustre" not in text:
        return False
    mounts = _mounts(text)
    path = os.path.realpath(path)
    found = [mount for mount in mounts if _is_below(path, mount[0])]
    return bool(found) and max(found, key=lambda mount: len(mount[0]))[1] == "lustre"


@contextlib.contextmanager
def mounts_read_once() -> Iterator[None]:
    """Look up what is mounted once for all files: that takes longer than to open one."""
    token = _kept.set(_mounted())
    try:
        yield
    finally:
        _kept.reset(token)


def _mounted() -> str:
    try:
        with open(MOUNTS, errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


@functools.lru_cache(maxsize=1)
def _mounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return folder and type of each mount; of two at one place the later one, which hides it."""
    rows = [line.split() for line in text.splitlines()]
    return tuple((_unescaped(row[1]), row[2]) for row in reversed(rows) if len(row) > 2)


def _unescaped(folder: str) -> str:
    """Return a folder as it is called: blanks and the like are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), folder)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@functools.lru_cache(maxsize=4)
def _library(names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            return ctypes.CDLL(name, use_errno=True)
        except OSError:
            continue
    return None


def _lfs(*words: str) -> str:
    program = shutil.which("lfs")
    if program is None:
        raise FileError(words[-1], "can't be striped: neither liblustreapi nor lfs is here")
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=REPORTED_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FileError(words[-1], f"can't be striped: {error}") from error
    if done.returncode:
        raise FileError(words[-1], f"can't be striped: lfs says {done.stderr.strip()!r}")
    return done.stdout


def create_striped(path: str, layout: Layout) -> None:
    """Make an empty file of a layout."""
    library = _library(LIBRARIES)
    if library is None:
        words = ["setstripe", "-c", str(layout.stripe_count), "-S", str(layout.stripe_size)]
        words += ["-p", layout.pool] if layout.pool is not None else []
        _lfs(*words, path)
        return
    pool = None if layout.pool is None else layout.pool.encode()
    library.llapi_file_open_pool.argtypes = [
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_ulonglong,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
    ]
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    size, count = layout.stripe_size, layout.stripe_count
    found = library.llapi_file_open_pool(os.fsencode(path), flags, 0o666, size, -1, count, 0, pool)
    if found < 0:
        reason = os.strerror(-found)
        raise FileError(path, f"can't be striped: liblustreapi says {reason!r}")
    os.close(found)


def layout_of(path: str) -> Layout:
    """Return how a file is spread."""
    library = _library(LIBRARIES)
    if library is None:
        return _parsed(path, _lfs("getstripe", path))
    buffer = ctypes.create_string_buffer(MAX_LAYOUT)
    found = library.llapi_file_get_stripe(os.fsencode(path), buffer)
    if found < 0:
        raise FileError(path, f"has no layout: liblustreapi says {os.strerror(-found)!r}")
    return _decoded(path, buffer.raw)


def _stripe_size(path: str) -> int:
    """Return the bytes of a stripe of a file; 0 if nobody tells."""
    try:
        return layout_of(path).stripe_size
    except FileError:
        return 0


def _decoded(path: str, raw: bytes) -> Layout:
    """Read a ``lov_user_md``, with or without the name of a pool."""
    magic = int.from_bytes(raw[:4], "little")
    if magic not in (LAYOUT_PLAIN, LAYOUT_WITH_POOL):
        raise FileError(path, f"has a layout of a kind that is not known ({magic:#x})")
    size = int.from_bytes(raw[24:28], "little")
    count = int.from_bytes(raw[28:30], "little")
    pool, at = None, 32
    if magic == LAYOUT_WITH_POOL:
        pool, at = raw[32:48].split(b"\0")[0].decode("utf-8", "replace") or None, 48
    ends = range(at + 24, min(at + 24 * count, len(raw)) + 1, 24)
    targets = tuple(int.from_bytes(raw[end - 4 : end], "little") for end in ends)
    return _made(path, stripe_count=count, stripe_size=size, pool=pool, targets=targets)


def _made(path: str, **reported: Any) -> Layout:
    try:
        return Layout(**reported)
    except UsageError as error:
        raise FileError(path, f"has a layout that can't be: {error}") from None


def _parsed(path: str, text: str) -> Layout:
    """Read what ``lfs getstripe`` says."""
    if COMPONENTS in text:
        raise FileError(path, "has a layout of several components, which is not known")
    reported = dict(re.findall(r"lmm_(stripe_count|stripe_size):\s*(-?[0-9]+)", text))
    pool = re.search(r"lmm_pool:\s*(\S+)", text)
    targets = tuple(
        int(word) for word in re.findall(r"^\s+([0-9]+)\s+[0-9]+\s+0x", text, re.MULTILINE)
    )
    return _made(
        path,
        stripe_count=int(reported.get("stripe_count", 0)),
        stripe_size=int(reported.get("stripe_size", 0)),
        pool=pool[1] if pool else None,
        targets=targets,
    )


@dataclass(frozen=True)
class LustreLocation(PosixLocation):
    """A file on Lustre, and the layout that it gets when it is written."""

    layout: Layout = Layout()

    @functools.cached_property
    def found(self) -> Layout:
        """The layout of the file that is there; the default one if nobody tells."""
        try:
            return layout_of(self.path)
        except FileError:
            return Layout()

    @property
    def unit(self) -> int:
        """Bytes of a stripe."""
        return self.found.stripe_size or 1

    def hosts(self, start: int, stop: int, stamp: tuple[Any, ...] = ()) -> list[str]:
        """Return the storage targets of some bytes, unless all have about as many of them."""
        size, targets = self.found.stripe_size, self.found.targets
        if not size or stop - start >= 2 * size * len(targets):
            return []
        held = dict.fromkeys(targets, 0)
        for stripe in range(start // size, -(-stop // size)):
            inside = min(stop, (stripe + 1) * size) - max(start, stripe * size)
            held[targets[stripe % len(targets)]] += inside
        best = best_of({f"ost-{target}": nbytes for target, nbytes in held.items()})
        return best if len(best) < len(targets) else []

    def create(self, nbytes: int | None) -> PosixDraft:
        """Begin to write the file, with its layout, or with that of its folder."""
        if self.layout == Layout():
            plain = super().create(nbytes)
            return LustreDraft(plain.target, plain.part, _stripe_size(plain.part))
        target, part = self.draft_paths()
        create_striped(part, self.layout)
        draft = LustreDraft(target, part, self.layout.stripe_size or _stripe_size(part))
        try:
            if os.path.exists(target):
                os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
            if nbytes:
                os.truncate(part, nbytes)
        except BaseException:
            draft.abandon()
            raise
        return draft


@dataclass(frozen=True)
class LustreDraft(PosixDraft):
    """A file that is being written stripe by stripe: no call crosses from one into the next."""

    stripe_size: int = 0

    @property
    def unit(self) -> int:
        """Bytes that one call does not cross; 1 if the file system decides."""
        return self.stripe_size or 1
