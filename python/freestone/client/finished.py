"""Futures of values that are here: what reductions give where no cluster is open."""

from __future__ import annotations

from typing import Any

__all__ = ["FinishedFuture", "value_here"]


class FinishedFuture:
    """A value that is here, with the methods of a future, so that one program runs in both ways.

    Passed to a task it stands for its value, as a `Future` does.
    """

    __slots__ = ("_value",)
    __hash__ = object.__hash__

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self, timeout_s: float | None = None) -> Any:
        """Return the value."""
        return self._value

    def exception(self, timeout_s: float | None = None) -> None:
        """Return None: what failed has raised where it was called."""

    def done(self) -> bool:
        """Return True."""
        return True

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, FinishedFuture):
            return self is other
        raise TypeError(
            f"a future is compared with {type(other).__name__}; call result() on it first, with a "
            "cluster and without one"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return value_here, (self._value,)

    def __repr__(self) -> str:
        return f"<freestone.FinishedFuture of {type(self._value).__name__}>"


def value_here(one: Any) -> Any:
    """Return the value of a finished future, also inside of lists, tuples and dicts."""
    if isinstance(one, FinishedFuture):
        return one.result()
    if type(one) in (list, tuple):
        return type(one)(map(value_here, one))
    if type(one) is dict:
        return {key: value_here(value) for key, value in one.items()}
    return one
