"""What a rank did, in a file that others can read while it runs and after it was killed.

A file is memory that the rank maps: a header, the span of each thread that is not over, and two
halves which it fills in turn, so that the last spans are always there. A kill takes nothing of it.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from freestone.errors import FormatError

__all__ = [
    "Counts",
    "Key",
    "Ring",
    "Span",
    "Trace",
    "boot",
    "encoded",
    "read",
    "read_counts",
    "read_folder",
]

HALF_NBYTES = 8 << 20
"""Of each half; some 60,000 spans. Only what is written takes memory."""
_MAGIC = b"freestone rank 1"
_HEADER = struct.Struct("<16sqQ64s")
_COUNTS, _COUNTS_AT = struct.Struct("<5Q"), 128
_OPEN, _OPEN_NBYTES, _MAX_THREADS = 4096, 512, 120
_HALVES = _OPEN + _MAX_THREADS * _OPEN_NBYTES
_GENERATION = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_MAX_NAME, _MAX_KEYS = 200, 1000
_NO_LENGTH = bytes(_LENGTH.size)
_quoted = json.encoder.encode_basestring_ascii

Key = tuple[int, str, int]
"""An event from or to a rank, by its identifier; and how many of it there were before."""


@dataclass(slots=True)
class Span:
    """Something that a thread of a rank did.

    Attributes
    ----------
    name, kind : str
        For people; ``main``, ``task``, ``wait``, ``retrieve``, ``fire`` or ``lock``.
    thread : int
        Its number, from 0 for the rank's own program.
    begin_ns, end_ns : int
        By the clock of the rank's machine.
    fired, taken : tuple of Key
        Events that it fired, by their targets, and that it took, by their sources.
    error : str
        The exception that it raised.
    lasts : bool
        Whether it was not over when it was read; it ends then, or at 0 if its process is no more.
    """

    name: str
    kind: str
    thread: int
    begin_ns: int
    end_ns: int = 0
    fired: tuple[Key, ...] = ()
    taken: tuple[Key, ...] = ()
    error: str = ""
    lasts: bool = False


@dataclass
class Trace:
    """What a rank did.

    Attributes
    ----------
    spans : list of Span
        In the order in which they ended.
    dropped : int
        Earlier ones that are not there any more.
    boot : str
        The machine, since it was started.
    epoch_ns : int
        What its clock is behind the time of day.
    """

    spans: list[Span] = field(default_factory=list)
    dropped: int = 0
    boot: str = ""
    epoch_ns: int = 0


class Counts(NamedTuple):
    """What a rank has done since its run began.

    Attributes
    ----------
    fired, taken : int
        Events, one for each target, and those that its tasks and waits took.
    tasks, waits : int
        Tasks and waits that are over.
    waited_ns : int
        How long these waits took.
    """

    fired: int = 0
    taken: int = 0
    tasks: int = 0
    waits: int = 0
    waited_ns: int = 0


class Ring:
    """Takes the spans of a rank, the last 8 MiB of them at least; its caller sees to locks.

    Parameters
    ----------
    path
        The file, which is made; by default memory that nobody else reads.
    half_nbytes
        How much is kept at least.

    Raises
    ------
    OSError
        If the file can't be made.
    """

    def __init__(self, path: str | None = None, half_nbytes: int = HALF_NBYTES) -> None:
        nbytes = _HALVES + 2 * half_nbytes
        if path is None:
            self._memory = mmap.mmap(-1, nbytes)
        else:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(descriptor, nbytes)
                self._memory = mmap.mmap(descriptor, nbytes)
            finally:
                os.close(descriptor)
        self._half_nbytes, self._half, self._count = half_nbytes, 0, 0
        self._at, self._counts = 0, Counts()
        epoch_ns = time.time_ns() - time.monotonic_ns()
        _HEADER.pack_into(self._memory, 0, _MAGIC, epoch_ns, os.getpid(), boot().encode())
        self._begin_half(0)

    def _begin_half(self, half: int) -> None:
        first = _HALVES + half * self._half_nbytes
        # Nothing is in it before its number says that it is the newer one.
        _LENGTH.pack_into(self._memory, first + _GENERATION.size, 0)
        # What went before it is what it counts from, which makes it the newer one.
        _GENERATION.pack_into(self._memory, first, self._count + 1)
        self._half, self._at = half, first + _GENERATION.size

    def add(self, span: Span) -> None:
        """Note a span that is over."""
        text = encoded(span)
        if self._at + len(text) + 2 * _LENGTH.size > _HALVES + (self._half + 1) * self._half_nbytes:
            self._begin_half(1 - self._half)
        at = self._at + _LENGTH.size
        end = at + len(text)
        # Who reads goes by the lengths: what follows has none, and this one comes last.
        self._memory[at : end + _LENGTH.size] = text + _NO_LENGTH
        _LENGTH.pack_into(self._memory, self._at, len(text))
        self._at = end
        self._count += 1
        fired, taken, tasks, waits, waited_ns = self._counts
        is_wait = span.kind == "wait"
        self._counts = Counts(
            fired + len(span.fired),
            taken + len(span.taken),
            tasks + (span.kind == "task"),
            waits + is_wait,
            waited_ns + (span.end_ns - span.begin_ns if is_wait else 0),
        )
        _COUNTS.pack_into(self._memory, _COUNTS_AT, *self._counts)

    def set_open(self, thread: int, text: bytes) -> None:
        """Note the span of a thread that is not over, as `encoded` writes it; empty for none."""
        if thread >= _MAX_THREADS:
            return
        at = _OPEN + thread * _OPEN_NBYTES
        _LENGTH.pack_into(self._memory, at, 0)
        if text and len(text) <= _OPEN_NBYTES - _LENGTH.size:
            self._memory[at + _LENGTH.size : at + _LENGTH.size + len(text)] = text
            _LENGTH.pack_into(self._memory, at, len(text))

    def trace(self) -> Trace:
        """Return what is in it."""
        return _read(self._memory)


def encoded(span: Span) -> bytes:
    """Write a span as JSON, with 1,000 events at most."""
    name = span.name if len(span.name) <= _MAX_NAME else f"{span.name[: _MAX_NAME - 3]}..."
    fired, taken = (_keys_text(keys) if keys else "" for keys in (span.fired, span.taken))
    # In a third of the time that `json` takes for it.
    return (
        f"[{_quoted(name)},{_quoted(span.kind)},{span.thread},{span.begin_ns},{span.end_ns},"
        f"[{fired}],[{taken}],{_quoted(span.error)}]"
    ).encode()


def _keys_text(keys: tuple[Key, ...]) -> str:
    return ",".join(f"[{rank},{_quoted(id)},{number}]" for rank, id, number in keys[:_MAX_KEYS])


def boot() -> str:
    """Return what tells this machine, since it was started, from others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def read(path: str | os.PathLike[str]) -> Trace:
    """Read the ring of a rank, also while the rank writes.

    Raises
    ------
    FormatError
        If the file is something else.
    """
    with Path(path).open("rb") as file:
        is_ring = file.read(len(_MAGIC)) == _MAGIC and os.fstat(file.fileno()).st_size > _HALVES
        if not is_ring:
            raise FormatError(os.fspath(path), "it is no record of what a rank did")
        # Most of it was never written, and takes neither disk nor time.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _read(content)


def read_counts(folder: str | os.PathLike[str]) -> dict[int, Counts]:
    """Read what each rank has counted, also of what its ring has no more: a page of each file.

    Raises
    ------
    FormatError
        If a file is something else.
    """
    found: dict[int, Counts] = {}
    for number, path in _files(folder):
        with path.open("rb") as file:
            head = file.read(_OPEN)
        if not head.startswith(_MAGIC) or len(head) < _OPEN:
            raise FormatError(os.fspath(path), "it is no record of what a rank did")
        found[number] = Counts(*_COUNTS.unpack_from(head, _COUNTS_AT))
    return dict(sorted(found.items()))


def _files(folder: str | os.PathLike[str]) -> Iterator[tuple[int, Path]]:
    for path in Path(folder).glob("rank-*"):
        number = path.name.removeprefix("rank-")
        if number.isdecimal():
            yield int(number), path


def read_folder(folder: str | os.PathLike[str]) -> list[Trace | None]:
    """Read the rings of all ranks, ``rank-0``, ``rank-1`` and so on; None for those that lack.

    Raises
    ------
    FormatError
        If a file is something else.
    """
    found = {number: read(path) for number, path in _files(folder)}
    spans = [span for trace in found.values() for span in trace.spans]
    last_ns = max((span.end_ns for span in spans), default=0)
    for span in spans:
        if span.lasts and not span.end_ns:
            # Its rank was killed, when nobody knows.
            span.end_ns = max(last_ns, span.begin_ns)
    return [found.get(rank) for rank in range(max(found, default=-1) + 1)]


def _read(memory: bytes | mmap.mmap) -> Trace:
    _, epoch_ns, pid, machine = _HEADER.unpack_from(memory)
    half_nbytes = (len(memory) - _HALVES) // 2
    halves = [_HALVES, _HALVES + half_nbytes]
    begins = {first: int(_GENERATION.unpack_from(memory, first)[0]) for first in halves}
    halves = sorted((first for first in halves if begins[first]), key=lambda first: begins[first])
    spans = [span for first in halves for span in _spans(memory, first, first + half_nbytes)]
    dropped = begins[halves[0]] - 1 if halves else 0
    name = machine.rstrip(b"\0").decode("ascii", "replace")
    lives = name == boot() and os.path.exists(f"/proc/{pid}")
    until_ns = time.monotonic_ns() if lives else 0
    for thread in range(_MAX_THREADS):
        at = _OPEN + thread * _OPEN_NBYTES
        for span in _spans(memory, at - _GENERATION.size, at + _OPEN_NBYTES, most=1):
            span.end_ns, span.lasts = until_ns, True
            spans.append(span)
    return Trace(spans, dropped, name, epoch_ns)


def _spans(memory: bytes | mmap.mmap, first: int, end: int, most: int = 1 << 62) -> list[Span]:
    found: list[Span] = []
    at = first + _GENERATION.size
    while at + _LENGTH.size <= end and len(found) < most:
        (length,) = _LENGTH.unpack_from(memory, at)
        at += _LENGTH.size
        if not length or at + length > end:
            break
        try:
            name, kind, thread, begin_ns, end_ns, fired, taken, error = json.loads(
                memory[at : at + length]
            )
            span = Span(str(name), str(kind), int(thread), int(begin_ns), int(end_ns))
            span.fired, span.taken, span.error = _keys(fired), _keys(taken), str(error)
        except (ValueError, TypeError):
            # It was being written.
            break
        found.append(span)
        at += length
    return found


def _keys(found: Any) -> tuple[Key, ...]:
    return tuple((int(rank), str(id), int(number)) for rank, id, number in found)
