"""The process that forks a worker's executors. Forked or started by its worker only.

It has imported what each executor needs, and has no threads, so an executor takes a fork instead of
the start of an interpreter.

See docs/decisions/121-executors-are-forked-by-a-server-of-their-worker.md
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence

from freestone import _native
from freestone.node import executor

__all__ = ["main", "serve"]

_REQUEST_NBYTES = 1 << 16
_DESCRIPTORS = 4


def main() -> None:
    """Fork executors, in a program of its own."""
    serve(socket.socket(fileno=int(os.environ.pop("FREESTONE__FORK_SOCKET"))))


def serve(connection: socket.socket) -> None:
    """Fork executors until the worker ends. In an executor, this runs its calls and returns."""
    # The worker decides what becomes of calls; in a fork of it, Python would raise at Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings = executor.load()
    if not _is_alone():
        # A thread of a library that was preloaded: its locks would stay locked in forks.
        return
    # A worker that is killed with something unread in its socket resets the connection.
    is_executor = False
    with contextlib.suppress(ConnectionError):
        is_executor = _fork_for(connection)
    if is_executor:
        executor.run(warnings)


def _fork_for(connection: socket.socket) -> bool:
    """Fork an executor for each request. True in an executor; False once the worker has ended."""
    connection.send(b"ready")
    while True:
        request, descriptors, _, _ = socket.recv_fds(
            connection, _REQUEST_NBYTES, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        if not request:
            return False
        pid = _native.executor.fork_sibling()
        if pid == 0:
            connection.close()
            _become_executor(request, descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(pid).encode())


def _is_alone() -> bool:
    return len(os.listdir("/proc/self/task")) == 1


def _become_executor(request: bytes, descriptors: Sequence[int]) -> None:
    """Have this process what an executor has that was started as a program."""
    connection, page, output, error = descriptors
    for descriptor, standard in ((output, 1), (error, 2)):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    variables = dict(part.split(b"=", 1) for part in request.split(b"\0") if part)
    os.environb.update(variables)
    os.environ["FREESTONE__EXECUTOR_SOCKET"] = str(connection)
    os.environ["FREESTONE__EXECUTOR_PAGE"] = str(page)
    if (tempfile := sys.modules.get("tempfile")) is not None:
        # Each executor has a folder of its own for temporary files.
        vars(tempfile)["tempdir"] = None
    sys.argv = [executor.__file__]


if __name__ == "__main__":
    main()
