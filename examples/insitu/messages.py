"""Tagged messages between processes of one machine, for the hand-written pipeline.

Datagrams over unix sockets keep their bounds and, from one sender, their order; who sends to a full
one sleeps, and so does who receives from an empty one.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path
from typing import Self

__all__ = ["Messages"]

_HEAD = struct.Struct("<ii")
LARGEST = 1 << 16


class Messages:
    """A process's end: messages have a source, a tag and a body.

    Parameters
    ----------
    folder
        Where all ends have their sockets.
    number
        Which end this is.
    serialized
        Whether only one thread at a time may use it, as with an MPI library that was started so.
    """

    def __init__(self, folder: Path, number: int, *, serialized: bool = False) -> None:
        self.folder, self.number = folder, number
        self._mutex = threading.Lock() if serialized else contextlib.nullcontext()
        self._serialized = serialized
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path(number)))

    def send(self, target: int, tag: int, body: bytes) -> None:
        """Send a message; wait while the target is full."""
        message, path = _HEAD.pack(self.number, tag) + body, str(self._path(target))
        if not self._serialized:
            self._socket.sendto(message, path)
            return
        # Who waited inside would keep others from receiving, and two such ends wait for ever.
        while True:
            with self._mutex, contextlib.suppress(BlockingIOError):
                self._socket.sendto(message, socket.MSG_DONTWAIT, path)
                return
            threading.Event().wait(100e-6)

    def receive(self) -> tuple[int, int, bytes]:
        """Return the next message: source, tag, body. Wait for it."""
        return self._split(self._socket.recv(LARGEST))

    def try_receive(self) -> tuple[int, int, bytes] | None:
        """Return the next message, None if there is none."""
        with self._mutex, contextlib.suppress(BlockingIOError):
            return self._split(self._socket.recv(LARGEST, socket.MSG_DONTWAIT))
        return None

    def _split(self, message: bytes) -> tuple[int, int, bytes]:
        source, tag = _HEAD.unpack_from(message)
        return source, tag, message[_HEAD.size :]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.sock"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
