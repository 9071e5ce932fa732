"""The functions that a cluster knows: each is defined once, and a large one is a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from freestone import functions
from freestone.client.usage import check_function

if TYPE_CHECKING:
    from freestone import _native
    from freestone.client.future import Future

__all__ = ["Definitions"]


class Definitions:
    """Numbers functions and sends their code once.

    Parameters
    ----------
    manager
        What knows them by their numbers.
    """

    def __init__(self, manager: _native.manager.Manager) -> None:
        self._manager = manager
        self._packages: functions.Packages = ()
        self._numbers: dict[tuple[bytes, str, bool], int] = {}
        self._all: dict[functions.Packages, dict[tuple[bytes, str, bool], int]] = {
            (): self._numbers
        }
        self._large: dict[int, tuple[int | None, Future]] = {}

    @property
    def packages(self) -> functions.Packages:
        """What calls of functions import that are defined from now on."""
        return self._packages

    @packages.setter
    def packages(self, packages: functions.Packages) -> None:
        if packages is not self._packages:
            self._packages = packages
            self._numbers = self._all.setdefault(packages, {})

    def define(
        self, function: Callable[..., Any], name: str | None, *, hoist: bool, as_block: bool
    ) -> int:
        """Return the number of a function."""
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name={name!r} ({type(name).__name__}): give a text")
        encoded = functions.encode(function, hoist=hoist)
        label = name or encoded.label
        if (encoded.name, label, False) not in self._numbers:
            check_function(function)
        return self.define_encoded(encoded, label, as_block=as_block)

    def define_encoded(
        self, encoded: functions.EncodedFunction, label: str, *, as_block: bool
    ) -> int:
        """Return the function's number; a large one becomes a block, if its call can have one."""
        as_block = as_block and len(encoded.definition) > functions.LARGE_NBYTES
        key = (encoded.name, label, as_block)
        number = self._numbers.get(key)
        if number is None:
            sent = functions.encode(functions.call_large) if as_block else encoded
            name = encoded.name
            if self._packages:
                sent = sent.with_packages(self._packages)
                name = encoded.with_packages(self._packages).name
            number = self._manager.define(label, name, sent.definition)
            self._numbers[key] = number
        if as_block:
            self._put(number, encoded)
        return number

    def _put(self, number: int, encoded: functions.EncodedFunction) -> None:
        """Make a large function a block, once, and again where the worker that had it is gone."""
        home = self._manager.home
        if number not in self._large or self._large[number][0] != home:
            large = functions.LargeFunction(encoded.name, encoded.definition)
            self._large[number] = home, self._manager.put(large, "task", large.block_name)

    def leading(self, number: int) -> tuple[Future, ...]:
        """Return what calls of a function are given first: its block, if it is one."""
        return (self._large[number][1],) if number in self._large else ()
