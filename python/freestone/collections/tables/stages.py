"""Stages: the same plan on several parts of the rows, each by one call."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from freestone.client import Client
from freestone.client.future import Future
from freestone.collections.pieces import Piece, future_of
from freestone.collections.rows import nbytes_of
from freestone.collections.tables.calls import Cutting, Whole, run
from freestone.collections.tables.plan import Node, Op, Slot, known_op

__all__ = ["Pieces", "Stage"]

Pieces = list[Any]


@dataclass(frozen=True)
class Stage:
    """The same plan on several parts of the rows.

    Attributes
    ----------
    plan : Node
        What is done to each part.
    slots : tuple of Slot
        The inputs of the plan, in order.
    parts : list of tuple
        For each part the pieces of each slot.
    client : Client or None
        The cluster that holds the pieces.
    is_done : bool
        Whether each part is one block already, and the plan leaves it as it is.
    """

    plan: Node
    slots: tuple[Slot, ...]
    parts: list[tuple[Pieces, ...]]
    client: Client | None
    is_done: bool = False

    @classmethod
    def of(
        cls,
        parts: Iterable[Pieces],
        empty: pl.DataFrame,
        client: Client | None,
        *,
        is_done: bool = False,
        share: float = 1.0,
        is_of_frame: bool = False,
        is_named_by_content: bool = False,
    ) -> Stage:
        """Make a stage that does nothing yet to parts that are made of some pieces each.

        `share` is how much of the pieces' bytes is in the columns of `empty`; see `Slot` for the
        others.
        """
        slot = Slot(empty, 0, share, is_of_frame, is_named_by_content)
        return cls(slot, (slot,), [(list(part),) for part in parts], client, is_done)

    @property
    def is_one(self) -> bool:
        """Whether one call takes all rows, and so may do anything to them."""
        return len(self.parts) == 1

    @property
    def columns(self) -> list[str]:
        """The names of what comes out of it."""
        return list(self.plan.schema)

    def then(self, method: str, *args: Any, **options: Any) -> Stage:
        """Do a step more to each part."""
        return replace(self, plan=known_op(method, [self.plan], *args, **options), is_done=False)

    def trimmed(self, needed: set[str] | None) -> Stage:
        """Leave out the columns that nothing needs, but one at least."""
        if needed is None or set(self.columns) <= needed:
            return self
        kept = [name for name in self.columns if name in needed] or self.columns[:1]
        return self.then("select", kept)

    def joined(self, other: Stage, method: str, *args: Any, **options: Any) -> Stage:
        """Do a step to each part and that of another stage; a stage of one part goes to all."""
        return Stage.together([self, other], method, *args, **options)

    @classmethod
    def together(cls, stages: Sequence[Stage], method: str, *args: Any, **options: Any) -> Stage:
        """Do a step to the parts of several stages; a stage of one part goes to all."""
        count = max(len(stage.parts) for stage in stages)
        plans: list[Node] = []
        slots: list[Slot] = []
        for stage in stages:
            moved = {slot: replace(slot, index=slot.index + len(slots)) for slot in stage.slots}
            plans.append(_moved(stage.plan, moved))
            slots += moved.values()
        columns = [stage.parts * (count if stage.is_one else 1) for stage in stages]
        parts = [sum(each, ()) for each in zip(*columns, strict=True)]
        client = next((stage.client for stage in stages if stage.client is not None), None)
        return cls(known_op(method, plans, *args, **options), tuple(slots), parts, client)

    def one(self) -> Stage:
        """Have one call take all rows."""
        if self.is_one:
            return self
        blocks = [block for (block,) in self.blocks()]
        return Stage.of([blocks], self.plan.empty, self.client)

    def varying(self) -> list[int]:
        """Return the numbers of the slots of which each part has other rows."""
        first = self.parts[0]
        return [
            place
            for place in range(len(self.slots))
            if any(part[place] is not first[place] for part in self.parts[1:])
        ]

    def nbytes(self) -> int:
        """Bytes of the rows that come in, as far as they are in its columns."""
        return int(sum(map(self.nbytes_of, self.slots)))

    def nbytes_of(self, slot: Slot) -> float:
        """Bytes of a slot in all parts, as far as they are in its columns."""
        return slot.share * self._block_nbytes(self.slots.index(slot))

    def whole_nbytes(self) -> int:
        """Bytes of the blocks that come in, with the columns that are not among its own."""
        return sum(map(self._block_nbytes, range(len(self.slots))))

    def _block_nbytes(self, place: int) -> int:
        pieces = {id(piece): piece for part in self.parts for piece in part[place]}
        return sum(map(_nbytes, pieces.values()))

    def blocks(self, cutting: Cutting | None = None) -> list[tuple[Any, ...]]:
        """Call the plan for each part: the blocks of each, as many as `cutting` says."""
        if self.is_done and cutting is None:
            return [tuple(part[0]) for part in self.parts]
        cutting = cutting or Whole()
        packed = pickle.dumps((self.plan, self.slots, cutting))
        return [self._call(packed, part, cutting.parts) for part in self.parts]

    def done(self) -> Stage:
        """Call the plan for each part, whose block is then the input of what comes next."""
        if self.is_done:
            return self
        parts = [list(part) for part in self.blocks()]
        return Stage.of(parts, self.plan.empty, self.client, is_done=True)

    def _call(self, packed: bytes, part: tuple[Pieces, ...], outputs: int) -> tuple[Any, ...]:
        counts = tuple(map(len, part))
        pieces = [piece for held in part for piece in held]
        names = [
            _name(piece) if slot.is_named_by_content else ""
            for slot, held in zip(self.slots, part, strict=True)
            for piece in held
        ]
        if self.client is None:
            found = run(packed, counts, names, *pieces)
            return tuple(block.value for block in (found if outputs > 1 else (found,)))
        options = {"name": self.plan.method if isinstance(self.plan, Op) else "table"}
        made = self.client.submit(run, (packed, counts, names, *pieces), {}, options, outputs)
        return tuple(made) if outputs > 1 else (made,)


def _moved(node: Node, moved: dict[Slot, Slot]) -> Node:
    """Return a plan whose slots are others."""
    if isinstance(node, Slot):
        return moved[node]
    assert isinstance(node, Op)
    return replace(node, inputs=tuple(_moved(each, moved) for each in node.inputs))


def _name(piece: Any) -> str:
    """Return what stands for the rows of a piece of a block that is named by its content."""
    if isinstance(piece, Piece):
        return f"{piece.future.name}[{piece.start}:{piece.stop}]"
    return piece.name if isinstance(piece, Future) else ""


def _nbytes(piece: Any) -> int:
    """Bytes of a piece's block; waits until it is made."""
    future = future_of(piece)
    if not isinstance(future, Future):
        return nbytes_of(piece)
    error = future.exception()
    if error is not None:
        raise error
    return int(future.nbytes or 0)
