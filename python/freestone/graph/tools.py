"""Tools: the functions and shared constants of a graph, which go to each executor once."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle

from freestone import functions
from freestone.errors import NotSerializableError
from freestone.functions import EncodedFunction

__all__ = ["Constant", "Tools"]


class Constant:
    """A constant that many steps use: a tool that returns it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        """Return the constant."""
        return self.value


class Tools:
    """A growing list of tools, each known by its identity.

    What a call runs is `partial(run, tools)`, a function as any other: its code, and with it all
    tools, goes to each worker once and stays in its executors.
    """

    def __init__(self) -> None:
        self.tools: list[Callable[..., Any]] = []
        self._numbers: dict[int, int] = {}
        self._encoded: tuple[int, EncodedFunction] | None = None

    def __len__(self) -> int:
        return len(self.tools)

    def number(self, tool: Callable[..., Any]) -> int:
        """Give the number of a function."""
        known = self._numbers.get(id(tool))
        if known is None:
            known = self._numbers[id(tool)] = len(self.tools)
            self.tools.append(tool)
        return known

    def constant(self, value: Any) -> int:
        """Give the number of the tool that returns `value`."""
        known = self._numbers.get(id(value))
        if known is None:
            known = self._numbers[id(value)] = len(self.tools)
            self.tools.append(Constant(value))
        return known

    def encoded(self, runner: Callable[..., Any], hoist: bool = True) -> EncodedFunction:
        """Encode the function that runs programs with these tools.

        Notes
        -----
        Some milliseconds, and again only when tools were added since.
        """
        if self._encoded is None or self._encoded[0] != len(self.tools):
            function = functools.partial(runner, tuple(self.tools))
            self._encoded = len(self.tools), encode(function, hoist)
        return self._encoded[1]


def encode(function: Callable[..., Any], hoist: bool) -> EncodedFunction:
    """Encode a function with what it is bound to.

    What can be pickled but has no name that would last is named by how it is pickled.
    """
    try:
        return functions.encode(function, hoist=hoist)
    except NotSerializableError as error:
        refused = error
    try:
        payload = cloudpickle.dumps(function, protocol=5)
    except Exception as error:
        raise refused from error
    name = hashlib.blake2b(payload, digest_size=16).digest()
    definition = pickle.dumps(("graph", [], [], payload), protocol=5)
    return EncodedFunction("graph", name, definition)
