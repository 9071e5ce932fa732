"""Calls of compiled kernels in a process of their own.

The process is started with the first call, takes one call after another, and ends with the process
that started it. If a kernel ends it, the call fails with the kernel's name, and the next call
starts another one. Arguments and results are copied through pipes, and lie in guarded memory.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, BinaryIO

from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.run.extensions.guarding import GuardedMemory
from freestone.lang.run.extensions.libraries import KernelError, call_compiled, loaded

__all__ = ["call_isolated"]

_LENGTH = struct.Struct("<Q")
_lock = threading.Lock()
_process: _Process | None = None


class _Process:
    """The process, and the pipes to it."""

    def __init__(self) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        words = [sys.executable, "-m", __name__, str(theirs_in), str(theirs_out)]
        path = os.pathsep.join(filter(None, sys.path))
        self.started_by = os.getpid()
        # The pipes are its own: kernels may print to standard output.
        self.child = subprocess.Popen(
            words, pass_fds=(theirs_in, theirs_out), env=os.environ | {"PYTHONPATH": path}
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.back = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")

    def ask(self, question: Any) -> Any:
        """Send a call, and return what came of it; None if the process has ended."""
        try:
            _send(self.out, question)
            return _received(self.back)
        except BrokenPipeError:
            return None

    def end(self) -> int:
        """Close the pipes, and return the exit status."""
        for pipe in (self.out, self.back):
            try:
                pipe.close()
            except OSError:
                continue
        return self.child.wait()


def call_isolated(kernel: Kernel, operands: Sequence[Any], threads: int) -> list[Any]:
    """Call a function of a shared library in a process of its own; see `call_compiled`.

    Raises
    ------
    KernelError
        If it fails, ends its process, or writes beyond its result.
    """
    global _process
    with _lock:
        if _process is None or _process.started_by != os.getpid():
            _process = _Process()
        answer = _process.ask((kernel, operands, threads))
        if answer is None:
            status = _process.end()
            _process = None
            raise KernelError(f"the kernel {kernel.name!r} {_end_reported(status)}")
    results, problem = answer
    if problem:
        raise KernelError(problem)
    return list(results)


def _end_reported(status: int) -> str:
    if status >= 0:
        return f"ended its process with status {status}"
    name = signal.Signals(-status).name
    if name in ("SIGSEGV", "SIGBUS"):
        why = "it reads or writes where it has no memory, as beyond an argument or a result"
        return f"crashed ({name}): {why}"
    return f"crashed ({name})"


def _send(pipe: BinaryIO, value: Any) -> None:
    data = pickle.dumps(value, protocol=5)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _received(pipe: BinaryIO) -> Any:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    return pickle.loads(data) if len(data) == length else None


class _Allocator(ctypes.Structure):
    """``freestone_allocator``."""

    _fields_ = (("allocate", ctypes.c_void_p), ("deallocate", ctypes.c_void_p))


_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _guarded(kernel: Kernel, operands: Sequence[Any], threads: int) -> tuple[Any, str]:
    memory = GuardedMemory()
    hooks = _ALLOCATE(memory.allocate), _FREE(lambda address: memory.free(address or 0))
    try:
        allocator = _Allocator.in_dll(loaded(kernel.library), "freestone_kernel_allocator")
        allocator.allocate, allocator.deallocate = (
            ctypes.cast(hook, ctypes.c_void_p).value for hook in hooks
        )
        results = call_compiled(kernel, operands, threads, memory.placed)
        memory.check()
        encoded = pickle.dumps(results, protocol=5)
        # Their memory is released by the hooks, which must still be there.
        del results
    except (KernelError, MemoryError, OSError) as error:
        return None, str(error) or f"the kernel {kernel.name!r} failed for want of memory"
    if memory.damage:
        sizes = ", ".join(map(str, memory.damage))
        return None, f"the kernel {kernel.name!r} writes beyond its result of {sizes} bytes"
    return pickle.loads(encoded), ""


def _serve(incoming: int, outgoing: int) -> None:
    with os.fdopen(incoming, "rb") as questions, os.fdopen(outgoing, "wb") as answers:
        while (question := _received(questions)) is not None:
            _send(answers, _guarded(*question))


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
