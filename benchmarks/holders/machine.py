"""What the machine itself gives: the bandwidth of a copy, and of a unix socket."""

from __future__ import annotations

import multiprocessing
import socket
import time
from typing import Any

import numpy as np

from benchmarks.holders.arrays import MIB, Cases, bandwidth, clock, make

CHUNKS = (128 * 1024, 256 * 1024, 512 * 1024, MIB, 4 * MIB)
BUFFERS = (0, MIB, 8 * MIB)


def measure(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Measure both on the largest of `sizes`; the best of all chunk and buffer sizes."""
    nbytes = max(sizes)
    cases: Cases = {"copy": copy_bandwidth(nbytes, repeats)}
    ways = {
        (chunk, buffer, spread): socket_seconds(nbytes, chunk, buffer, spread)
        for spread in (False, True)
        for buffer in BUFFERS
        for chunk in CHUNKS
    }
    best = {}
    for spread, case in ((False, "socket"), (True, "socket into memory")):
        way = min((way for way in ways if way[2] == spread), key=ways.__getitem__)
        cases[case] = bandwidth(nbytes, ways[way])
        best[case] = {"chunk": way[0], "socket_buffer": way[1]}
    return {"cases": cases, "best": best}


def copy_bandwidth(nbytes: int, repeats: int) -> tuple[float, str]:
    """Copy an array into pages that were touched before."""
    source = make(nbytes, 1)
    target = np.zeros_like(source)
    np.copyto(target, source)
    return bandwidth(
        nbytes, min(clock(lambda: np.copyto(target, source))[0] for _ in range(repeats))
    )


def socket_seconds(nbytes: int, chunk: int, buffer: int, spread: bool) -> float:
    """Send bytes to another process, which reads them into one chunk or, if `spread`, into all.

    All memory was touched before. `buffer` 0 leaves the sockets' buffers as they are.
    """
    ours, theirs = socket.socketpair()
    if buffer:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    process = multiprocessing.get_context("fork").Process(
        target=receive, args=(theirs, nbytes, chunk, spread)
    )
    with ours:
        process.start()
        theirs.close()
        data = memoryview(bytearray(b"1") * nbytes)
        ours.recv(1)
        start = time.perf_counter()
        for offset in range(0, nbytes, chunk):
            ours.sendall(data[offset : offset + chunk])
        ours.recv(1)
        seconds = time.perf_counter() - start
    process.join()
    return seconds


def receive(connection: socket.socket, nbytes: int, chunk: int, spread: bool) -> None:
    """Read `nbytes` bytes; say when ready and when done."""
    memory = memoryview(bytearray(b"1") * (nbytes if spread else chunk))
    with connection:
        connection.sendall(b"r")
        done = 0
        while done < nbytes:
            start = done if spread else 0
            done += connection.recv_into(memory[start : start + min(chunk, nbytes - done)])
        connection.sendall(b"d")
