"""Tools: the functions and shared constants of a graph, which go to each executor once."""

from __future__ import annotations

import functools
import hashlib
import importlib
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from freestone import functions
from freestone.errors import NotSerializableError
from freestone.functions import EncodedFunction, modules

__all__ = ["Constant", "Packed", "Tools", "encode"]

_LABEL = "graph"

_RANDOM = ("random", "numpy.random")

_Identity = tuple[int, bool]
"""The id of a value, and whether the tool returns that value instead of calling it."""


class Constant:
    """A constant that many steps use: a tool that returns it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value

    def __call__(self) -> Any:
        """Return the constant."""
        return self.value


@dataclass(frozen=True)
class _Packed:
    """A tool as it travels: its name, its pickle, and what has to be imported before."""

    name: bytes
    payload: bytes
    hoists: tuple[Any, ...]
    users: tuple[Any, ...]


Packed = dict[_Identity, _Packed]
"""What is packed already."""


class Tools:
    """A growing list of tools, each known by its identity and by what it is there for.

    What a call runs is a runner bound to tools, a function as any other: it goes to each worker
    once, with all tools, and stays in its executors.

    Parameters
    ----------
    packed
        What is packed already, by identity; shared by all tools of a graph.

    Notes
    -----
    A graph may both call a function and pass it. The two are two tools: one gives what the function
    returns, the other the function.
    """

    def __init__(self, packed: Packed) -> None:
        self.tools: list[Callable[..., Any]] = []
        self._numbers: dict[_Identity, int] = {}
        self._packed = packed
        self._encoded: tuple[int, EncodedFunction] | None = None

    def __len__(self) -> int:
        return len(self.tools)

    def number(self, tool: Callable[..., Any]) -> int:
        """Give the number of a function."""
        return self._number((id(tool), False), tool)

    def constant(self, value: Any) -> int:
        """Give the number of the tool that returns `value`."""
        return self._number((id(value), True), Constant(value))

    def _number(self, identity: _Identity, tool: Callable[..., Any]) -> int:
        known = self._numbers.get(identity)
        if known is None:
            known = self._numbers[identity] = len(self.tools)
            self.tools.append(tool)
        return known

    def encoded(self, runner: Callable[..., Any], hoist: bool = True) -> EncodedFunction:
        """Encode the function that runs programs with these tools.

        Raises
        ------
        NotSerializableError
            When a tool can't be pickled.

        Notes
        -----
        Each tool is pickled once for a graph, and all are put together anew only when some were
        added. A function is named by its code and all that it refers to; anything else by its
        pickle and the files of the user's modules that the pickle mentions.
        """
        if self._encoded is None or self._encoded[0] != len(self.tools):
            packed = [self._pack(tool, hoist) for tool in self.tools]
            self._encoded = len(self.tools), _together(runner, packed)
        return self._encoded[1]

    def _pack(self, tool: Callable[..., Any], hoist: bool) -> _Packed:
        identity = (id(tool.value), True) if isinstance(tool, Constant) else (id(tool), False)
        known = self._packed.get(identity)
        if known is None:
            known = _pack_function(tool, hoist) if type(tool) is FunctionType else _pack(tool)
            self._packed[identity] = known
        return known


def encode(function: Callable[..., Any], hoist: bool) -> EncodedFunction:
    """Encode a function by itself; what has no name that would last is named by its pickle."""
    try:
        return functions.encode(function, hoist=hoist)
    except NotSerializableError:
        return _together(_only, [_pack(function)])


def _pack_function(function: Callable[..., Any], hoist: bool) -> _Packed:
    try:
        encoded = functions.encode(function, hoist=hoist)
    except NotSerializableError:
        return _pack(function)
    _, hoists, users, payload = pickle.loads(encoded.definition)
    return _Packed(encoded.name, payload, tuple(hoists), tuple(users))


def _pack(value: Any) -> _Packed:
    try:
        payload = _pickled(value)
    except Exception as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, Constant):
            kind = f"{type(value.value).__module__}.{type(value.value).__qualname__}"
        raise NotSerializableError(
            what="constant", where="it", kind=kind, label=_LABEL, reason=str(error)
        ) from error
    users = modules.closure(name for name in _user_modules() if name.encode() in payload)
    name = hashlib.blake2b(payload, digest_size=16)
    for user in users:
        name.update(user.digest)
    return _Packed(name.digest(), payload, (), tuple(map(tuple, users)))


class _Attribute:
    """Pickles as an attribute of a module."""

    def __init__(self, module: str, name: str) -> None:
        self._given = module, name

    def __reduce__(self) -> tuple[Any, ...]:
        return _attribute, self._given


def _attribute(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _by_name(value: Any) -> Any:
    """Give a module's random functions by their names.

    They are methods of a generator. Its pickle would start each executor at one state, and all
    would draw the same numbers.
    """
    name = getattr(value, "__name__", "")
    for module in _RANDOM:
        if name and getattr(sys.modules.get(module), name, None) is value:
            return _Attribute(module, name)
    return value


def _pickled(value: Any) -> bytes:
    value = _by_name(value)
    try:
        payload = pickle.dumps(value, protocol=5)
    except Exception:
        payload = b"_main__"
    if b"_main__" in payload:
        payload = functions.dumps(value)
    return payload


def _user_modules() -> tuple[str, ...]:
    return _users_among(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _users_among(_: int) -> tuple[str, ...]:
    """Give the names of the user's modules; looked for again when there are more modules."""
    own = ("__main__", "__mp_main__")
    return tuple(name for name in [*sys.modules] if name not in own and modules.is_user(name))


def _together(runner: Callable[..., Any], packed: Sequence[_Packed]) -> EncodedFunction:
    name = hashlib.blake2b(runner.__qualname__.encode(), digest_size=16)
    for one in packed:
        name.update(one.name)
    hoists = list(dict.fromkeys(hoist for one in packed for hoist in one.hoists))
    users = list(dict.fromkeys(tuple(user) for one in packed for user in one.users))
    payload = pickle.dumps(_Bound(runner, [one.payload for one in packed]), protocol=5)
    definition = pickle.dumps((_LABEL, hoists, users, payload), protocol=5)
    return EncodedFunction(_LABEL, name.digest(), definition)


class _Bound:
    """Pickles as a runner bound to tools, each of them pickled by itself."""

    def __init__(self, runner: Callable[..., Any], payloads: list[bytes]) -> None:
        self._given = runner, payloads

    def __reduce__(self) -> tuple[Any, ...]:
        return bind, self._given


def bind(runner: Callable[..., Any], payloads: list[bytes]) -> functools.partial[Any]:
    """Make what calls of a graph run, in an executor."""
    return functools.partial(runner, tuple(map(_loaded, payloads)))


@functools.lru_cache(maxsize=512)
def _loaded(payload: bytes) -> Any:
    """Load a tool once, whatever functions of however many graphs it is bound to."""
    return pickle.loads(payload)


def _only(tools: Sequence[Callable[..., Any]], *values: Any) -> Any:
    return tools[0](*values)
