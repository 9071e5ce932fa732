"""What is read of a file in HDFS."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from freestone import _native
from freestone.io.stores.hdfs_client import asked, retried

__all__ = ["Source"]

T = TypeVar("T")
# Reads from so many bytes on bring a whole window; smaller ones look at one place only.
AHEAD_FROM, WINDOW, KEPT = 128 << 10, 4 << 20, 4
# Ranges of a file that are read at once. The client has a task for each, which takes packets from
# its DataNode and checks their sums while others are copied.
AT_ONCE = 4


@functools.lru_cache(maxsize=256)
def reader(client: Any, path: str, stamp: tuple[Any, ...]) -> Any:
    """Return the client's reader of a version of a file: it knows where the blocks are."""
    return retried(lambda: client.read(path))


class Source:
    """Reads a file at an offset.

    Each call of the client asks a DataNode anew, so what follows a read of a middle size is read
    with it and kept: `KEPT` windows of `WINDOW` bytes.

    Parameters
    ----------
    url
        The file, as messages name it.
    client
        The client of its server.
    path
        The file inside of HDFS.
    stamp
        The version that is meant, if the caller knows: for all its reads in this process the
        NameNode is asked once where its blocks are, and again when a read fails.
    """

    at_once = AT_ONCE

    def __init__(self, url: str, client: Any, path: str, stamp: tuple[Any, ...] = ()) -> None:
        self._url, self._client, self._path = url, client, path
        if stamp:
            self._reader = asked(url, lambda: reader(client, path, stamp))
        else:
            self._renew()
        self.nbytes: int = len(self._reader)
        self._windows: tuple[tuple[int, bytes], ...] = ()

    def _renew(self) -> None:
        """Ask where the blocks are."""
        self._reader = asked(self._url, lambda: retried(lambda: self._client.read(self._path)))

    def read_at(self, offset: int, nbytes: int) -> bytes | memoryview:
        """Return at most so many bytes from an offset on; none at the end."""
        count = max(min(nbytes, self.nbytes - offset), 0)
        if not count:
            return b""
        for start, window in self._windows:
            if start <= offset and offset + count <= start + len(window):
                return memoryview(window)[offset - start :][:count]
        if not AHEAD_FROM <= count < WINDOW:
            return self._read(offset, count)
        found = self._read(offset, min(WINDOW, self.nbytes - offset))
        # Replaced as a whole: threads that read at once at most lose a window.
        self._windows = ((offset, found), *self._windows[: KEPT - 1])
        return memoryview(found)[:count]

    def _read(self, offset: int, count: int) -> bytes:
        found = self.again(lambda: self._reader.read_range(offset, count))
        _native.io.io_count(read=len(found))
        return bytes(found)

    def packets(self, offset: int, nbytes: int) -> Packets:
        """Return the bytes of a range, packet by packet; fewer where the file ends before."""
        return Packets(self, offset, max(min(nbytes, self.nbytes - offset), 0))

    def read_into(self, offset: int, view: memoryview) -> int:
        """Fill memory from an offset on; how many bytes there were.

        The client hands out a packet at a time, which is still in the processor's cache when it is
        copied: a range as a whole would be put together in memory of its own first.
        """
        out, filled = np.frombuffer(view, np.uint8), 0
        for packet in self.packets(offset, len(view)):
            stop = filled + len(packet)
            # By NumPy, which lets other threads have the interpreter while it copies.
            out[filled:stop] = np.frombuffer(packet, np.uint8)
            filled = stop
        return filled

    def stream(self, offset: int, nbytes: int) -> Iterator[bytes]:
        """Return what the client gives of a range."""
        found: Iterator[bytes] = self._reader.read_range_stream(offset, nbytes)
        return found

    def again(self, call: Callable[[], T]) -> T:
        """Call; once more if it fails, when the NameNode has said anew where the blocks are."""
        try:
            return call()
        except Exception:
            self._renew()
        return asked(self._url, lambda: retried(call))


class Packets:
    """Bytes of a range, as the client gets them; a read that breaks off goes on where it was."""

    def __init__(self, source: Source, offset: int, nbytes: int) -> None:
        self._source, self._offset, self._stop = source, offset, offset + nbytes
        self._stream: Iterator[bytes] | None = None

    def __iter__(self) -> Packets:
        return self

    def __next__(self) -> bytes:
        packet = self._source.again(self._packet) if self._offset < self._stop else b""
        if not packet:
            raise StopIteration
        self._offset += len(packet)
        _native.io.io_count(read=len(packet))
        return packet

    def _packet(self) -> bytes:
        """Return what comes next; nothing if the file has become shorter."""
        if self._stream is None:
            self._stream = self._source.stream(self._offset, self._stop - self._offset)
        try:
            return next(self._stream, b"")
        except Exception:
            self._stream = None
            raise
