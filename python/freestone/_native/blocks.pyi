"""Blocks as calls make and read them, and the names of files."""

from typing import Any, final

__all__ = [
    "Filled",
    "Group",
    "Hold",
    "MappedBuffer",
    "Stored",
    "checksum",
    "fill_block",
    "name_file",
]

@final
class MappedBuffer:
    """Some bytes of a mapped block, read-only."""

    def __len__(self) -> int: ...

@final
class Stored:
    """A result that becomes a block in its worker's cache, however small it is."""

    def __new__(cls, value: Any) -> Stored: ...
    @property
    def value(self) -> Any: ...

@final
class Group:
    """A result that is kept as the names of the call's inputs, not as their bytes.

    Wherever it is an input, it is what ``make(*args)`` returns for the call's arguments.
    """

    def __new__(cls, value: Any, make: Any) -> Group: ...
    @property
    def value(self) -> Any: ...
    @property
    def make(self) -> Any: ...

@final
class Filled:
    """A block that a call has written into its node's cache, and returns."""

@final
class Hold:
    """Keeps a file block in place while a `freestone.File` lives."""

def fill_block(source: Any, offset: int, nbytes: int, stream: bytes) -> Filled | None: ...
def checksum(buffer: Any) -> int: ...
def name_file(path: str) -> tuple[str, int]: ...
