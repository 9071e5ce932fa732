"""What a script writes: a file that it reads later is as it was written, not as it is now."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from freestone.lang.front.graph.graph import Block
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.front.types.types import Type

__all__ = ["Files"]


@dataclass(eq=False)
class _Written:
    """What was written to a file last, and the blocks with operations that write to it."""

    type: Type
    blocks: list[Block] = field(default_factory=list)


class Files:
    """The files that a script has written so far, while it is built.

    Attributes
    ----------
    changes : int
        How often another file was written, or something of another type: what was built before
        may have read a file as it is no longer.
    """

    def __init__(self) -> None:
        self.changes: int = 0
        self._written: dict[str, _Written] = {}
        self._any = False

    def write(self, path: Scalar | None, type: Type, block: Block) -> None:
        """Note what is written to a file; None stands for one whose name is known later."""
        if path is None:
            self.changes += not self._any
            self._any = True
            return
        key = _whole(str(path))
        if key not in self._written:
            self._written[key] = _Written(type)
            self.changes += 1
        written = self._written[key]
        self.changes += shapeless(written.type) != shapeless(type)
        written.type = type
        if block not in written.blocks:
            written.blocks.append(block)

    def written(self, path: str, block: Block) -> Type | None:
        """Return the type of what a file holds once the script wrote it; None if it did not.

        The shape is known where all that is written to it, and read from it, is in one block.
        """
        written = self._written.get(_whole(path))
        if written is None:
            return None
        exact = written.blocks == [block] and not self._any
        return written.type if exact else shapeless(written.type)

    def stored(self, type: Type) -> Type:
        """Return what is known of a file that is there, as the script may write to it."""
        return shapeless(type) if self._any else type

    def copy(self) -> Files:
        """Return the same, to be changed by what never runs."""
        other = Files()
        other._written = {
            path: _Written(each.type, list(each.blocks)) for path, each in self._written.items()
        }
        other._any, other.changes = self._any, self.changes
        return other


def shapeless(type: Type) -> Type:
    """Return a type with another number of rows, and of columns if they have no labels."""
    return replace(type, rows=None, columns=type.columns if type.schema else None, sparsity=None)


def _whole(path: str) -> str:
    # What no file can be called is refused by whoever reads or writes it.
    return path if "://" in path or "\0" in path else os.path.realpath(path)
