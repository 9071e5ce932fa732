"""What is seen of compiled kernels: what they print, and which of them crashed the process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from freestone._native.vector import CrashNote
from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.front.graph.graph import Op

__all__ = ["prints_in_order", "reported"]

_ADVICE = (
    "to find what it does wrong, run the script with --isolate-kernels, "
    "or, in Python, with Settings(isolate=True)"
)


@contextmanager
def reported(kernel: Kernel, op: Op) -> Iterator[None]:
    """Have a kernel named, with its place in the script, if it crashes the process."""
    library = f" of {kernel.library}" if kernel.library else ""
    place = f", {op.place}" if op.place else ""
    text = f"the kernel {kernel.name!r}{library}{place}; {_ADVICE}"
    with prints_in_order(), CrashNote(text):
        yield


@contextmanager
def prints_in_order() -> Iterator[None]:
    """Have out what was printed before, and then what a kernel prints: C has its own buffer."""
    print(end="", flush=True)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
