"""What is done with each strip of rows: the operations that make what is asked for, anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from freestone.lang.compile.roles import ROWS, WHOLE
from freestone.lang.compile.rows import BELOW, ENDS, MIRRORED, PLACED, Member
from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.types.types import Type

__all__ = ["Body"]

OF_STRIPS = ENDS | {"rows", "cumulate_rows", "extremes_of_kept"}
"""What is done in a strip and takes, first, which strip that is."""
STRIP = Type("strip")


class Body:
    """What is done with each strip.

    Parameters
    ----------
    size : int
        The rows of a strip.
    bases : mapping
        The numbers of rows that are cut, and those of what their strips are cut from.
    by_rows : mapping
        What makes the values of which a strip has its rows.
    order : sequence of Member
        What does not run where it stands, in order.

    Attributes
    ----------
    strip : Value
        The strip.
    ops : list of Op
        What is done with it.

    Notes
    -----
    A value may be made more than once for a strip: its own rows, and those of the other end.
    """

    def __init__(
        self,
        size: int,
        bases: Mapping[int, int],
        by_rows: Mapping[Value, Member],
        order: Sequence[Member],
    ) -> None:
        self.strip: Value = Value(STRIP)
        self.ops: list[Op] = []
        self._size, self._bases = size, bases
        self._by_rows, self._order = by_rows, order
        self._derived: dict[tuple[Value, int, int], Value] = {}
        self._here: dict[tuple[Value, Value], Value] = {}

    def made(
        self, wanted: Sequence[Value], written: Member | None, also: Sequence[Value]
    ) -> list[Value]:
        """Add what makes some values, `also` others, and what writes one.

        Returns
        -------
        list of Value
            What is wanted, in a strip.
        """
        needed = {value: {self.strip: None} for value in (*wanted, *also)}
        chosen: list[tuple[Member, Value]] = []
        if written is not None:
            chosen.append((written, self.strip))
            self._ask_for_operands(written, self.strip, needed)
        for member in reversed(self._order):
            asked = [strip for value in member.op.results for strip in needed.get(value, ())]
            for strip in dict.fromkeys(asked):
                chosen.append((member, strip))
                self._ask_for_operands(member, strip, needed)
        for member, strip in reversed(chosen):
            self._add(member, strip, [v for v in member.op.results if strip in needed.get(v, ())])
        return [self._here[value, self.strip] for value in wanted]

    def _ask_for_operands(
        self, member: Member, strip: Value, needed: dict[Value, dict[Value, None]]
    ) -> None:
        for value, role in zip(member.operands, member.roles, strict=True):
            # What is there as a whole by now is not made again.
            if role != WHOLE and value in self._by_rows:
                needed.setdefault(value, {})[self._strip_for(strip, member, role)] = None

    def _strip_for(self, strip: Value, member: Member, role: str) -> Value:
        """Return the strip that an operation takes an operand's rows of."""
        if role == ROWS:
            return strip
        above = member.operands[0].type.rows or 0
        begin, rows = 0, above
        if role == BELOW:
            begin, rows = above, member.operands[1].type.rows or 0
        if role == MIRRORED:
            rows = 0
        key = strip, begin, rows
        if key not in self._derived:
            attrs = {"begin": begin, "rows": rows}
            op = Op("part" if rows else "mirrored", [strip], [], attrs, member.op.place)
            self._derived[key] = self._appended(op, STRIP)
        return self._derived[key]

    def _add(self, member: Member, strip: Value, results: list[Value]) -> None:
        op = member.op
        if member.kind == "pipeline":
            self._add_pipeline(member, strip, results)
            return
        operands = self._operands(member, strip)
        attrs = dict(op.attrs)
        if member.kind in OF_STRIPS:
            operands = [strip, *operands]
            attrs |= {"of": op.attrs.get("name"), "name": op.kind}
            attrs["times"] = self._times(op.operands[0] if member.kind in ENDS else op.results[0])
        clone = Op(member.kind, operands, [], attrs, op.place)
        for value, way in zip(op.results, member.ways, strict=True):
            made = Value(self._type(value, way), clone)
            if way == PLACED:
                rows = self._size * self._times(op.operands[0])
                at_most = rows if value.type.rows is None else min(rows, value.type.rows)
                made.type = value.type.shaped(at_most, value.type.columns)
            clone.results.append(made)
            self._here[value, strip] = made
        self.ops.append(clone)

    def _add_pipeline(self, member: Member, strip: Value, results: list[Value]) -> None:
        op = member.op
        ways = dict(zip(op.results, member.ways, strict=True))
        used = {v for inner in _needed(op.regions[0], results) for v in inner.operands}
        operands = dict(zip(member.operands, self._operands(member, strip, used), strict=True))
        body = _copied(op.regions[0], operands, results)
        for value, out in zip(results, body.outs, strict=True):
            out.type = self._type(value, ways[value])
            self._here[value, strip] = out
        reads = [new for value, new in operands.items() if value in used]
        attrs = {"reads": reads}
        self.ops.append(Op("pipeline", reads, list(body.outs), attrs, op.place, [body]))

    def _operands(
        self, member: Member, strip: Value, used: set[Value] | None = None
    ) -> list[Value]:
        return [
            self._taken(value, self._strip_for(strip, member, role))
            if role != WHOLE and value.const is None and (used is None or value in used)
            else value
            for value, role in zip(member.operands, member.roles, strict=True)
        ]

    def _type(self, value: Value, way: str) -> Type:
        if way != ROWS:
            return value.type
        rows = self._size * self._times(value)
        return value.type.shaped(min(rows, value.type.rows or rows), value.type.columns)

    def _times(self, value: Value) -> int:
        """Return how many rows a matrix has for each that is cut."""
        rows = value.type.rows or 1
        return rows // self._bases.get(rows, rows)

    def _taken(self, value: Value, strip: Value) -> Value:
        """Return the rows in a strip of a value, which may be there as a whole."""
        if (value, strip) not in self._here:
            attrs = {"name": "of", "times": self._times(value)}
            op = Op("rows", [strip, value], [], attrs)
            self._here[value, strip] = self._appended(op, self._type(value, ROWS))
        return self._here[value, strip]

    def _appended(self, op: Op, type: Type) -> Value:
        op.results = [Value(type, op)]
        self.ops.append(op)
        return op.results[0]


def _needed(block: Block, outs: Iterable[Value]) -> list[Op]:
    """Return the operations of a pipeline that some of its results need."""
    needed, kept = set(outs), []
    for op in reversed(block.ops):
        if any(result in needed for result in op.results):
            needed.update(op.operands)
            kept.append(op)
    return kept[::-1]


def _copied(block: Block, operands: dict[Value, Value], outs: list[Value]) -> Block:
    """Copy the operations of a pipeline that some of its results need."""
    known = dict(operands)
    ops = []
    for op in _needed(block, outs):
        sides = [known.get(value, value) for value in op.operands]
        clone = replace(op, operands=sides, results=[], attrs=dict(op.attrs))
        clone.results = [Value(value.type, clone) for value in op.results]
        known.update(zip(op.results, clone.results, strict=True))
        ops.append(clone)
    return Block([], ops, [known[value] for value in outs])
