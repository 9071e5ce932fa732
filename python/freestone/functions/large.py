"""Functions that are too large to be sent with messages: they travel as blocks.

A block goes to each worker once, from worker to worker, and to disk where memory is short. The call
is then one of `call_large`, whose first argument is the function's block.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

from freestone.functions.loading import load

__all__ = ["LARGE_NBYTES", "WARN_NBYTES", "LargeFunction", "call_large"]

LARGE_NBYTES = 1 << 20
"""A function whose definition is larger becomes a block."""
WARN_NBYTES = 10_000_000
"""From here on the user is warned: what it captures had better be an argument."""

_loaded: dict[bytes, Callable[..., Any]] = {}
"""Functions of this process, which stay resident as small ones do."""


class LargeFunction:
    """A function's definition, as a value that can be put.

    Attributes
    ----------
    name : bytes
        The function's, 16 bytes.
    """

    __slots__ = ("_definition", "name")

    def __init__(self, name: bytes, definition: bytes | memoryview) -> None:
        self.name: bytes = name
        self._definition = definition

    @property
    def block_name(self) -> bytes:
        """The name of its block: 16 bytes that are equal tomorrow, as a pickle's need not be."""
        return hashlib.blake2b(b"large function" + self.name, digest_size=16).digest()

    def loaded(self) -> Callable[..., Any]:
        """Return the function, which is loaded once in each process."""
        function = _loaded.get(self.name)
        if function is None:
            function = _loaded[self.name] = load(self._definition)
        return function

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # Out of band, so that nothing is copied before a process loads it.
        definition = pickle.PickleBuffer(self._definition) if protocol >= 5 else self._definition
        return LargeFunction, (self.name, definition)


def call_large(function: LargeFunction, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that came as a block."""
    return function.loaded()(*args, **kwargs)
