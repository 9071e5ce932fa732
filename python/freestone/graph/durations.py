"""How long tasks take, by what they do: measured while graphs run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["UNKNOWN_S", "Durations", "key_label", "kind_of"]

UNKNOWN_S = 100e-6
"""What a task is taken for whose like never ran, in seconds."""

_WEIGHT = 0.3


class Durations:
    """Mean durations of kinds of tasks, recent ones counting more.

    Notes
    -----
    The first task of a kind in an executor may import modules or fill caches; so a shorter
    duration counts at once and a longer one bit by bit.
    """

    def __init__(self) -> None:
        self._seconds: dict[Any, float] = {}

    def add(self, kind: Any, seconds: float) -> None:
        """Take note of one task."""
        known = self._seconds.get(kind)
        if known is None or seconds < known / 2:
            self._seconds[kind] = seconds
        else:
            self._seconds[kind] = known + _WEIGHT * (min(seconds, 4 * known) - known)

    def at_least(self, kinds: Sequence[Any], seconds: float) -> None:
        """Take note that a call with tasks of these kinds, which has not ended, took so long.

        It may have imported modules all the while; so each task is taken for a share of it.
        """
        for kind in kinds:
            self._seconds.setdefault(kind, seconds / len(kinds))

    def knows(self, kind: Any) -> bool:
        """Whether a task of this kind ran before."""
        return kind in self._seconds

    def of(self, kind: Any) -> float:
        """Give the expected duration in seconds."""
        return self._seconds.get(kind, UNKNOWN_S)


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
