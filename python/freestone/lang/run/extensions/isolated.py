"""Calls of compiled kernels in a process of their own.

The process is started with the first call, takes one call after another, and ends with the process
that started it, even while a kernel runs. If a kernel ends it, the call fails with the kernel's
name, and the next call starts another one. Arguments and results are copied through pipes, and lie
in guarded memory.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, BinaryIO

import cloudpickle

from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.run.extensions.flat import call_flat
from freestone.lang.run.extensions.guarding import GuardedMemory
from freestone.lang.run.extensions.libraries import KernelError, call_compiled, loaded
from freestone.lang.run.extensions.reported import prints_in_order

__all__ = ["call_isolated"]

POLL_INTERVAL_MS = 1000
FLUSH_TIMEOUT_S = 1.0

_LENGTH = struct.Struct("<Q")
_lock = threading.Lock()
_process: _Process | None = None


class _Process:
    """The process, and the pipes to it."""

    def __init__(self) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        path = os.pathsep.join(filter(None, sys.path))
        self.started_by = os.getpid()
        numbers = map(str, (theirs_in, theirs_out, self.started_by))
        words = [sys.executable, "-m", __name__, *numbers]
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
        """Close the pipes, and return the exit status once it has ended."""
        for pipe in (self.out, self.back):
            try:
                pipe.close()
            except OSError:
                continue
        return self.child.wait()


def call_isolated(kernel: Kernel, operands: Sequence[Any], threads: int) -> list[Any]:
    """Call a compiled function in a process of its own; see `call_compiled` and `call_flat`.

    Raises
    ------
    KernelError
        If it fails, ends its process, or writes beyond its result.
    """
    global _process
    encoded = _encoded(kernel)
    with prints_in_order(), _lock:
        if _process is None or _process.started_by != os.getpid():
            _process = _Process()
        try:
            answer = _process.ask((encoded, operands, threads))
        except BaseException:
            # What still comes, as after Ctrl-C, would answer the next call.
            _process.child.kill()
            _process.end()
            _process = None
            raise
        if answer is None:
            status = _process.end()
            _process = None
            raise KernelError(f"the kernel {kernel.name!r} {_end_reported(status)}")
    results, problem = answer
    if problem:
        raise KernelError(problem)
    return list(results)


@lru_cache(maxsize=64)
def _encoded(kernel: Kernel) -> bytes:
    try:
        return bytes(cloudpickle.dumps(kernel))
    except Exception as error:
        problem = f"can't be sent to a process of its own: {type(error).__name__}: {error}"
        raise KernelError(f"the kernel {kernel.name!r} {problem}") from error


@lru_cache(maxsize=64)
def _decoded(encoded: bytes) -> Kernel:
    """Return a kernel; a function of Python's is compiled anew, which takes a second."""
    kernel: Kernel = pickle.loads(encoded)
    return kernel


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


def _guarded(encoded: bytes, operands: Sequence[Any], threads: int) -> tuple[Any, str]:
    """Return the results of a call, and what is wrong with it."""
    try:
        kernel = _decoded(encoded)
    except Exception as error:
        return None, f"a kernel can't be made in a process of its own: {_reported(error)}"
    memory = GuardedMemory()
    try:
        with prints_in_order():
            data = _called(kernel, operands, threads, memory)
    except (KernelError, MemoryError, OSError) as error:
        return None, str(error) or f"the kernel {kernel.name!r} failed for want of memory"
    if memory.damage:
        sizes = ", ".join(map(str, memory.damage))
        return None, f"the kernel {kernel.name!r} writes beyond its result of {sizes} bytes"
    return pickle.loads(data), ""


def _called(kernel: Kernel, operands: Sequence[Any], threads: int, memory: GuardedMemory) -> bytes:
    """Call a kernel with operands in guarded memory, and return its results, encoded.

    They lie in that memory, which must still be there while they are encoded and released.
    """
    if not kernel.library:
        results = call_flat(kernel, operands, memory.placed)
        memory.check()
        return pickle.dumps(results, protocol=5)
    hooks = _ALLOCATE(memory.allocate), _FREE(lambda address: memory.free(address or 0))
    allocator = _Allocator.in_dll(loaded(kernel.library), "freestone_kernel_allocator")
    allocator.allocate, allocator.deallocate = (
        ctypes.cast(hook, ctypes.c_void_p).value for hook in hooks
    )
    results = call_compiled(kernel, operands, threads, memory.placed)
    memory.check()
    encoded = pickle.dumps(results, protocol=5)
    del results
    return encoded


def _reported(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _end_with(parent: int, questions: int) -> None:
    """End this process with the one that started it, whatever a kernel does meanwhile.

    The pipe shows its end at once. Where a process that was forked holds the other side as well,
    only the number of the parent does.
    """
    poller = select.poll()
    poller.register(questions, 0)
    while os.getppid() == parent and not poller.poll(POLL_INTERVAL_MS):
        pass
    # Without a kernel that runs, the process ends by itself, and writes what was printed.
    time.sleep(FLUSH_TIMEOUT_S)
    os._exit(1)


def _serve(incoming: int, outgoing: int, parent: int) -> None:
    # Ctrl-C is the affair of whoever started this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent, incoming), daemon=True).start()
    with os.fdopen(incoming, "rb") as questions, os.fdopen(outgoing, "wb") as answers:
        while (question := _received(questions)) is not None:
            _send(answers, _guarded(*question))


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
