"""Plain reads and writes of a file: what nobody who reads or writes it can be faster than.

By threads of this process, and by processes of their own. What two processes gain over one is the
machine's limit for two workers: the bandwidth of its memory, and what a file system lets two do at
once to one file.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

STEP = 1 << 20
# Longer than any of it takes.
TIMEOUT_S = 60


def read(path: str) -> None:
    """Read a file by two threads, a megabyte at a time, into new memory, as a result's is."""
    nbytes = os.path.getsize(path)
    target = np.empty(nbytes, np.uint8)
    descriptor = os.open(path, os.O_RDONLY)

    def part(start: int, stop: int) -> None:
        for at in range(start, stop, STEP):
            os.preadv(descriptor, [target.data[at : min(at + STEP, stop)]], at)

    _in_two(part, nbytes)
    os.close(descriptor)


def write(data: memoryview, path: str, threads: int) -> None:
    """Write bytes into a new file of their size by one thread or two, a megabyte at a time."""
    descriptor = _created(path, len(data))

    def part(start: int, stop: int) -> None:
        for at in range(start, stop, STEP):
            os.pwrite(descriptor, data[at : min(at + STEP, stop)], at)

    if threads == 2:
        _in_two(part, len(data))
    else:
        part(0, len(data))
    os.close(descriptor)


def _in_two(part: Callable[[int, int], None], nbytes: int) -> None:
    """Call a function with two halves of a range, at once."""
    half = nbytes // 2 // STEP * STEP
    other = threading.Thread(target=part, args=(half, nbytes))
    other.start()
    part(0, half)
    other.join()


def _created(path: str, nbytes: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.ftruncate(descriptor, nbytes)
    return descriptor


class Processes:
    """Processes that read and write a part of a file each, from and into memory used before."""

    def __init__(self, pipes: list[Connection]) -> None:
        self._pipes = pipes

    def read(self, path: str) -> None:
        """Read a file, a megabyte at a time, into a shared-memory block of each process."""
        self._run("read", path, os.path.getsize(path))

    def write(self, path: str, nbytes: int) -> None:
        """Write a new file from the blocks."""
        os.close(_created(path, nbytes))
        self._run("write", path, nbytes)

    def _run(self, action: str, path: str, nbytes: int) -> None:
        cuts = [
            nbytes * each // len(self._pipes) // STEP * STEP for each in range(len(self._pipes))
        ]
        for pipe, start, stop in zip(self._pipes, cuts, [*cuts[1:], nbytes], strict=True):
            pipe.send((action, path, start, stop))
        for pipe in self._pipes:
            _answer(pipe)


@contextlib.contextmanager
def processes(count: int, nbytes: int) -> Iterator[Processes]:
    """Start processes for files of so many bytes at most, and end them."""
    context = multiprocessing.get_context("spawn")
    each = nbytes // count + 2 * STEP
    ends = [context.Pipe() for _ in range(count)]
    started = [context.Process(target=_serve, args=(theirs, each)) for _, theirs in ends]
    pipes = [ours for ours, _ in ends]
    try:
        for process in started:
            process.start()
        for pipe in pipes:
            _answer(pipe)
        yield Processes(pipes)
    finally:
        for pipe, process in zip(pipes, started, strict=True):
            with contextlib.suppress(OSError):
                pipe.send(None)
            process.join(TIMEOUT_S)


def _answer(pipe: Connection) -> None:
    if not pipe.poll(TIMEOUT_S):
        raise TimeoutError(f"a process that reads and writes has said nothing for {TIMEOUT_S} s")
    pipe.recv()


def _serve(pipe: Connection, nbytes: int) -> None:
    block = SharedMemory(create=True, size=nbytes)
    try:
        memory: Any = block.buf
        # So its pages are there.
        memory[:] = bytes(nbytes)
        pipe.send("ready")
        while (reported := pipe.recv()) is not None:
            _do(memory, *reported)
            pipe.send("done")
        del memory
    finally:
        block.close()
        block.unlink()


def _do(memory: Any, action: str, path: str, start: int, stop: int) -> None:
    descriptor = os.open(path, os.O_RDONLY if action == "read" else os.O_WRONLY)
    for at in range(start, stop, STEP):
        with memory[at - start : min(at + STEP, stop) - start] as piece:
            if action == "read":
                os.preadv(descriptor, [piece], at)
            else:
                os.pwrite(descriptor, piece, at)
    os.close(descriptor)
