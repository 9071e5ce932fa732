"""How long tasks take, by what they do: measured while graphs run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["UNKNOWN_S", "Durations", "key_label", "kind_of", "size_of"]

UNKNOWN_S = 100e-6
"""What a task is taken for whose like never ran, in seconds."""

_WEIGHT = 0.3


class Durations:
    """Mean durations of kinds of tasks, recent ones counting more, by the size of their blocks.

    Notes
    -----
    The first task of a kind in an executor may import modules or fill caches; so a shorter
    duration counts at once and a longer one bit by bit. What is known of smaller blocks only is
    taken for as many times longer as the blocks are larger: tasks of which too many share a call
    leave executors idle, and too few cost some microseconds.
    """

    def __init__(self) -> None:
        self._seconds: dict[Any, dict[int, float]] = {}

    def add(self, kind: Any, seconds: float, size: int = 0) -> None:
        """Take note of one task; `size` is that of `size_of`."""
        known = self._seconds.setdefault(kind, {})
        mean = known.get(size)
        if mean is None or seconds < mean / 2:
            known[size] = seconds
        else:
            known[size] = mean + _WEIGHT * (min(seconds, 4 * mean) - mean)

    def at_least(self, kinds: Sequence[Any], seconds: float, size: int = 0) -> None:
        """Take note that a call with tasks of these kinds, which has not ended, took so long.

        It may have imported modules all the while; so each task is taken for a share of it.
        """
        for kind in kinds:
            self._seconds.setdefault(kind, {}).setdefault(size, seconds / len(kinds))

    def knows(self, kind: Any) -> bool:
        """Whether a task of this kind ran before."""
        return kind in self._seconds

    def of(self, kind: Any, size: int = 0) -> float:
        """Give the expected duration in seconds.

        Examples
        --------
        >>> durations = Durations()
        >>> durations.add("sum", 0.001, size=20)
        >>> durations.of("sum", size=22)
        0.004
        """
        known = self._seconds.get(kind)
        if not known:
            return UNKNOWN_S
        nearest = min(known, key=lambda other: abs(other - size))
        return float(known[nearest] * 2 ** max(size - nearest, 0)) if nearest else known[nearest]


def size_of(nbytes: Sequence[int | None]) -> int:
    """Give the power of two of which blocks are on average, in bytes; 0 if none is known.

    Examples
    --------
    >>> size_of([1000, None, 1048])
    11
    """
    known = [one for one in nbytes if one is not None]
    return (sum(known) // len(known)).bit_length() if known else 0


def key_label(key: Any) -> str:
    """Give the part of a key that people know."""
    from dask.utils import key_split

    return str(key_split(key))


def kind_of(key: Any, node: Any) -> Any:
    """Tell what a task does: its function, or the part of its key before the token."""
    code = getattr(getattr(node, "func", None), "__code__", None)
    if code is None or code.co_name == "_execute_subgraph":
        return key_label(key)
    return code.co_filename, code.co_firstlineno, code.co_name
