"""The type variable of futures and of what holds values: `Future` alone means `Future[Any]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import typing_extensions

    T = typing_extensions.TypeVar("T", default=Any)
else:
    # Before Python 3.13 a type variable knows no default.
    T = TypeVar("T")

__all__ = ["T"]
