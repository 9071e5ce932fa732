"""What is written down of a resize, and what all ranks have in common."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from freestone.malleable.path import not_joined

__all__ = ["Replicated", "Resized"]

T = TypeVar("T")


@dataclass(frozen=True)
class Resized:
    """A resize that was done, or failed and left the job as it was.

    Attributes
    ----------
    step : int
        Steps done when it began.
    before, after : int
        Numbers of processes; after a failure, the one that was asked for.
    method : str
        Such as ``"merge-p2p-sync"``.
    error : str
        Why it failed, or nothing.
    steps, data_steps : int
        Steps done while it went on; of those, while data moved.
    moved_nbytes : int
        Sent between processes, in all.
    spawn_s, total_s : float
        Until joining ranks were ready, and until all targets had their data.
    data_s : float
        From when all were connected until all targets had their data.
    began_s : float
        When it began, in seconds since the job did.
    switch_s : float
        Of `data_s`, the time at the end in which the job waited.
    """

    step: int
    before: int
    after: int
    method: str
    error: str = ""
    steps: int = 0
    data_steps: int = 0
    moved_nbytes: int = 0
    spawn_s: float = 0.0
    data_s: float = 0.0
    total_s: float = 0.0
    began_s: float = 0.0
    switch_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


class Replicated(Generic[T]):
    """A value that every rank has, and joining ranks get.

    Attributes
    ----------
    value : object
        After a resize all ranks have that of the rank 0 of before. Any that can be pickled. A
        joining rank can't read it before it has joined, and what it writes until then is dropped,
        as the others have written it already.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_there = False

    @property
    def value(self) -> T:
        """The value on this rank."""
        if not self._is_there:
            raise not_joined(f"the value of {self._name!r}")
        return self._value

    @value.setter
    def value(self, value: T) -> None:
        if self._is_there:
            self._value = value

    def adopt(self, value: T) -> None:
        """Have a value from now on."""
        self._value, self._is_there = value, True

    def __repr__(self) -> str:
        return f"<replicated {self._value!r}>" if self._is_there else "<replicated>"
