"""Where a walk is."""

from __future__ import annotations

__all__ = ["Step"]


class Step:
    """A step of the path to the value at hand, which an error will name."""

    __slots__ = ("_path", "_place")

    def __init__(self, path: list[str], place: str) -> None:
        self._path, self._place = path, place

    def __enter__(self) -> None:
        self._path.append(self._place)

    def __exit__(self, *_: object) -> None:
        self._path.pop()
