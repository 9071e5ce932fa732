"""What all holders share: arrays, clocks and the functions that run in workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]
Cases = dict[str, tuple[float, str]]

MIB = 2**20
LINGER_S = 0.002


def make(nbytes: int, seed: int) -> Array:
    """Return an array of `nbytes` bytes that no other seed gives."""
    array = np.arange(nbytes // 8, dtype=np.int64)
    array += seed
    return array


def is_whole(array: Array, nbytes: int, seed: int) -> bool:
    """Tell whether `array` is what `make` returned, by its ends."""
    return array.nbytes == nbytes and array[0] == seed and array[-1] == seed + nbytes // 8 - 1


def size_name(nbytes: int) -> str:
    """Return a size for people, such as '64 MiB'."""
    return f"{nbytes // MIB} MiB" if nbytes < 1024 * MIB else f"{nbytes // (1024 * MIB)} GiB"


def bandwidth(nbytes: int, seconds: float) -> tuple[float, str]:
    """Return a bandwidth and its unit."""
    return nbytes / seconds / 1e9, "GB/s"


def clock(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that `action` takes, and its value."""
    start = time.perf_counter()
    value = action()
    return time.perf_counter() - start, value


class Now:
    """Unpickles as the time at which it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return time.perf_counter, ()


def since(start: float, array: Array, nbytes: int, seed: int) -> tuple[int, float]:
    """Return this process and the seconds from `start` until the array was in hand."""
    seconds = time.perf_counter() - start
    return witness(seconds, array, nbytes, seed)


def witness(seconds: float, array: Array, nbytes: int, seed: int) -> tuple[int, float]:
    """Check the array; return this process and `seconds`. Takes long enough to share the work."""
    if not is_whole(array, nbytes, seed):
        raise ValueError("the array is not what was put")
    time.sleep(LINGER_S)
    return os.getpid(), seconds


def ends(array: Array, nbytes: int, seed: int) -> bool:
    """Tell whether the array arrived whole."""
    return is_whole(array, nbytes, seed)
