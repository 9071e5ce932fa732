"""The typed expression graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from freestone.lang.front.parse.source import Location
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.front.types.types import Type

EFFECTS = frozenset(
    [
        "print",
        "stop",
        "read",
        "write",
        "append_rows",
        "print_rows",
        "now",
        "call",
        "if",
        "while",
        "for",
        "register_view",
        "close",
        "open_file",
        "open_device",
        "open_on_device",
        "save_result",
        "start_profiling",
        "stop_profiling",
        "read_csv_file",
    ]
)
"""Operations that are never dropped, shared or moved."""


class Value:
    """What an operation makes, or a block is given.

    Attributes
    ----------
    type : Type
        What is known of it.
    op : Op or None
        What makes it; None for a block's argument.
    const : int, float, bool, str or None
        Its value where it is known before the script runs.
    """

    __slots__ = ("const", "op", "type")

    def __init__(self, type: Type, op: Op | None = None, const: Scalar | None = None) -> None:
        self.type: Type = type
        self.op: Op | None = op
        self.const: Scalar | None = const


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """When the values of a block are no longer needed.

    Attributes
    ----------
    last_reads : dict
        For every operation, what nobody reads after it.
    handed_on : list of Value
        What the block hands on and nobody finds in it later.
    """

    last_reads: dict[Op, list[Value]]
    handed_on: list[Value]


@dataclass(eq=False, slots=True)
class Block:
    """Operations in order; `outs` are what it hands on when it ends.

    `lifetimes` are found out when it first runs, and, if it is a pipeline's, `prepared`: how the
    engine runs it on operands of certain shapes and types. From then on it does not change.
    """

    args: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    outs: list[Value] = field(default_factory=list)
    lifetimes: Lifetimes | None = None
    prepared: dict[Any, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Op:
    """An operation; `where` tells people in which place it runs.

    `ready` is how a lazy value's operation runs without a plan, once that has been found out.
    """

    kind: str
    operands: list[Value]
    results: list[Value]
    attrs: dict[str, Any]
    place: Location | None = None
    regions: list[Block] = field(default_factory=list)
    kernel: str | None = None
    where: str = ""
    ready: Any = None

    @property
    def pure(self) -> bool:
        """Whether it does nothing but make its results."""
        return self.kind not in EFFECTS

    @property
    def name(self) -> str:
        """What people read: ``binary add``."""
        name = self.attrs.get("name")
        return f"{self.kind} {name}" if name else self.kind


@dataclass(eq=False, slots=True)
class Function:
    """A function for arguments of certain types."""

    name: str
    block: Block
    results: list[Type] | None = None


@dataclass(eq=False, slots=True)
class Program:
    """A whole script.

    `on_blocks` are the matrices and frames whose rows lie in blocks of a cluster; `peak` are the
    most bytes that it needs at once, and where; `parse_seconds` is how long its text and those that
    it imports took to parse.
    """

    main: Block
    functions: list[Function] = field(default_factory=list)
    on_blocks: set[Value] = field(default_factory=set)
    peak: tuple[int, Op | None] | None = None
    parse_seconds: float = 0.0

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks, inner ones first."""
        for block in (self.main, *(function.block for function in self.functions)):
            yield from nested(block)


def nested(block: Block) -> Iterator[Block]:
    """Yield the blocks inside of `block`, inner ones first, and then itself."""
    for op in block.ops:
        for region in op.regions:
            yield from nested(region)
    yield block


def outer_operands(op: Op) -> list[Value]:
    """Return all that an operation reads: its operands, and what its regions use from outside."""
    return list(op.operands) + [value for region in op.regions for value in free_values(region)]


def free_values(block: Block) -> list[Value]:
    """Return what a block reads that it neither is given nor makes, each value once."""
    found: dict[Value, None] = {}
    inside = set(block.args)
    for op in block.ops:
        found.update(dict.fromkeys(v for v in outer_operands(op) if v not in inside))
        inside.update(op.results)
    found.update(dict.fromkeys(value for value in block.outs if value not in inside))
    return list(found)
