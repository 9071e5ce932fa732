"""How long tasks take, by what they do: measured while graphs run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["UNKNOWN_S", "Durations", "Kinds", "is_fused", "key_label", "name_of", "size_of"]

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

    def at_least(self, works: Sequence[tuple[Any, int]], seconds: float) -> None:
        """Take note that a call with tasks of these kinds and sizes, not ended yet, took so long.

        It may have imported modules all the while; so each task is taken for a share of it.
        """
        for kind, size in works:
            self._seconds.setdefault(kind, {}).setdefault(size, seconds / len(works))

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


def size_of(nbytes: Sequence[int | None], tasks: int = 0) -> int:
    """Give the power of two of which blocks are on average, in bytes; 0 if none is known.

    Of more alike tasks than there are blocks each is taken to work on its share of the bytes: they
    begin with slices of the blocks.

    Examples
    --------
    >>> size_of([1000, None, 1048])
    11
    >>> size_of([1000, None, 1048], tasks=32)
    7
    """
    known = [one for one in nbytes if one is not None]
    return (sum(known) // max(len(known), tasks)).bit_length() if known else 0


def key_label(key: Any) -> str:
    """Give the part of a key that people know."""
    from dask.utils import key_split

    return str(key_split(key))


class Kinds:
    """Looks up what tasks do; names of keys are looked at once.

    A fused task does what the tasks inside it do. Dask fuses the same tasks differently for other
    numbers of blocks, and what is known of them holds in every such task.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, key: Any, node: Any) -> Any:
        """Tell what a task does that is no fused one: its function, or its key without token."""
        same = name_of(key), id(getattr(node, "func", None))
        kind = self._known.get(same)
        if kind is None:
            code = getattr(getattr(node, "func", None), "__code__", None)
            made = code and (code.co_filename, code.co_firstlineno, code.co_name)
            kind = self._known[same] = made or key_label(key)
        return kind

    def within(self, key: Any, node: Any) -> tuple[Any, ...]:
        """Tell what the tasks inside a task do; what is a value already does nothing.

        Notes
        -----
        Fused tasks of one name and length are taken for alike.
        """
        if not is_fused(node):
            return () if type(node).__name__ == "DataNode" else (self.of(key, node),)
        inner, _, inside, *_ = node.args
        same = name_of(key), len(inner), len(inside)
        kinds: tuple[Any, ...] | None = self._known.get(same)
        if kinds is None:
            parts = [(name, one) for name, one in inner.items() if hasattr(one, "func")]
            kinds = sum((self.within(*part) for part in parts if part[0] not in inside), ())
            self._known[same] = kinds
        return kinds


def is_fused(node: Any) -> bool:
    """Whether a task runs a graph of its own."""
    code = getattr(getattr(node, "func", None), "__code__", None)
    return code is not None and code.co_name == "_execute_subgraph"


def name_of(key: Any) -> Any:
    """Give what the keys of alike tasks share."""
    return key[0] if type(key) is tuple else key
