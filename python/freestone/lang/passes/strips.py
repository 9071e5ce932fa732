"""Row strips: what would need more memory than there is runs on some rows at a time, if it can.

Operations that work row by row are not run where they stand. Where something needs their sums or
extremes, some or all of their rows (a column of results, say), or writes or prints them, one
operation does that strip by strip: it makes some rows, or reads them, and keeps nothing of them but
what was asked for. What is asked for later takes another round over the strips, in which rows are
made anew.

A strip of a matrix with k times the rows has k times as many; one of what a filter keeps has as
many as are left of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from freestone.lang.distributed.roles import ROWS, WHOLE
from freestone.lang.passes.expanding import expanded
from freestone.lang.passes.memory import limit_of, peak_of
from freestone.lang.passes.rows import ENDS, KEPT, PLACED, Member, heights_of, members_of
from freestone.lang.plan.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.settings import Settings
from freestone.lang.types.types import NOTHING, Type

STRIP_NBYTES = 16 << 20
"""Bytes of the widest matrix in a strip: enough for an operation's start not to count."""
OF_STRIPS = ENDS | {"rows", "cumulate_rows"}
"""What is done in a strip and takes, first, which strip that is."""
TRIED = 3
"""How many numbers of rows are tried, those of the largest matrices."""


def cut(program: Program, settings: Settings) -> None:
    """Cut what works row by row into strips, in blocks that need too much memory."""
    limit = limit_of(settings)
    # On a cluster rows lie in blocks anyhow.
    if settings.distributed or peak_of(program)[0] <= limit:
        return
    paths = _written(program)
    for block in list(_blocks(program)):
        for rows, nbytes in _candidates(block):
            _try(program, block, rows, nbytes, limit, paths)


def _blocks(program: Program) -> Iterator[Block]:
    """Yield the blocks of the script, without those of pipelines."""
    stack = [program.main, *(function.block for function in program.functions)]
    while stack:
        block = stack.pop(0)
        yield block
        stack += [r for op in block.ops if op.kind != "pipeline" for r in op.regions]


def _written(program: Program) -> frozenset[str] | None:
    """Return the files that a program writes; None if a name is known only when it runs."""
    ops = [op for block in program.blocks() for op in block.ops if op.kind == "write"]
    names = [op.operands[1].const for op in ops]
    known = [name for name in names if isinstance(name, str)]
    return frozenset(known) if len(known) == len(names) else None


def _candidates(block: Block) -> list[tuple[int, int]]:
    """Return numbers of rows that could be cut, and the bytes of the largest matrix of each."""
    most: dict[int, int] = {}
    for op in block.ops:
        for value in (*op.operands, *op.results):
            rows, nbytes = value.type.rows, value.type.nbytes
            if value.type.data == "matrix" and rows is not None and rows > 1 and nbytes:
                most[rows] = max(nbytes, most.get(rows, 0))
    return sorted(most.items(), key=lambda pair: -pair[1])[:TRIED]


def _try(
    program: Program,
    block: Block,
    rows: int,
    nbytes: int,
    limit: int,
    paths: frozenset[str] | None,
) -> None:
    """Cut a block if that needs less memory; into strips so low that all fits, if any do."""
    before, ops = peak_of(program)[0], block.ops
    if before <= limit:
        return
    size = max(1, min(rows, STRIP_NBYTES * rows // nbytes))
    while True:
        block.ops = _Cutting(block, ops, (rows, size, nbytes * size // rows), paths).done()
        found = peak_of(program)[0]
        if found <= limit or size == 1:
            break
        size //= 2
    if found >= before:
        block.ops = ops


class _Cutting:
    """Puts the operations of a block anew.

    Parameters
    ----------
    block : Block
        Whose results are needed.
    ops : list of Op
        Its operations.
    strips : (int, int, int)
        All rows, those of a strip, and the bytes of its widest matrix.
    paths : frozenset of str or None
        The files that the script writes; None if they are not known.
    """

    def __init__(
        self,
        block: Block,
        ops: list[Op],
        strips: tuple[int, int, int],
        paths: frozenset[str] | None,
    ) -> None:
        self._outs = block.outs
        self._rows, self._size, self._nbytes = strips
        heights = heights_of(ops, self._rows)
        self._rest = [each for op in ops for each in expanded(op, heights)]
        self._members = members_of(self._rest, self._rows, paths)
        self._coming = {result for op in self._rest for result in op.results}
        self._ready: list[Op] = []
        self._order: list[Member] = []
        self._by_rows: dict[Value, Member] = {}
        self._parts: dict[Value, Member] = {}
        self._turned: dict[Value, Op] = {}
        # What a filter kept and is there as a whole: strips can't be found in it any more.
        self._there: set[Value] = set()

    def done(self) -> list[Op]:
        """Return the operations, with those that run strip by strip."""
        while self._rest:
            self._put(self._rest.pop(0))
        self._need(self._outs)
        return self._ready

    def _put(self, op: Op) -> None:
        member = self._member(op)
        if op.kind == "transpose" and op.operands[0] in self._by_rows:
            self._turned[op.results[0]] = op
        elif member is None:
            self._need(outer_operands(op))
            self._ready.append(op)
        else:
            self._need(member.taken(WHOLE))
            self._need(value for value in member.taken(ROWS) if value not in self._by_rows)
            self._keep(member)
        # Not before: what is put ahead of it must not read it.
        self._coming.difference_update(op.results)

    def _keep(self, member: Member) -> None:
        if member.ways == (WHOLE,):
            self._flush([], member)
            return
        self._order.append(member)
        for value, way in zip(member.op.results, member.ways, strict=True):
            (self._by_rows if way in (ROWS, KEPT) else self._parts)[value] = member

    def _member(self, op: Op) -> Member | None:
        member = self._members[op]
        if member is not None and member.kind in ENDS and self._is_there(op):
            return None
        turned = self._turned.get(op.operands[0]) if op.kind == "matmul" else None
        if turned is None:
            return member
        # t(A) @ B: a sum, over the strips, of products of their rows.
        sides = turned.operands[0], op.operands[1]
        if sides[0].type.rows is None or sides[0].type.rows != sides[1].type.rows:
            return member
        return Member(op, sides, (ROWS, ROWS), ("sum",), "cross")

    def _is_there(self, op: Op) -> bool:
        """Tell whether what an operation ends with is there as a whole, or might as well be."""
        value = op.operands[0]
        if value not in self._by_rows or value in self._there:
            return True
        small = value.type.nbytes is not None and value.type.nbytes <= self._nbytes
        return small and op.kind == "print"

    def _need(self, values: Iterable[Value]) -> None:
        """See to it that values are there as a whole."""
        wanted = list(dict.fromkeys(values))
        turned = [self._turned[value] for value in wanted if value in self._turned]
        inner = [op.operands[0] for op in turned]
        rows = [
            value
            for value in (*wanted, *inner)
            if value in self._by_rows and value not in self._there
        ]
        if rows or any(value in self._parts for value in wanted):
            self._look_ahead()
            self._flush(list(dict.fromkeys(rows)), None)
        # Only now: what was put ahead must not read what is turned here.
        for value in wanted:
            self._turned.pop(value, None)
        self._ready += turned

    def _look_ahead(self) -> None:
        """Put what can be done in the same round over the strips, though it comes later."""
        for op in list(self._rest):
            member = self._member(op)
            if member is None or member.ways == (WHOLE,):
                continue
            if any(value in self._coming for value in op.operands):
                continue
            whole = member.taken(WHOLE)
            if any(v in d for v in whole for d in (self._parts, self._by_rows, self._turned)):
                continue
            if any(v in d for v in member.taken(ROWS) for d in (self._parts, self._turned)):
                continue
            self._rest.remove(op)
            self._coming.difference_update(op.results)
            self._keep(member)

    def _flush(self, rows: list[Value], written: Member | None) -> None:
        """Run strip by strip what gives all parts so far, some rows, and what is written."""
        wanted = [*rows, *self._parts]
        makers = {**self._by_rows, **self._parts}
        ways = [makers[value].ways[makers[value].op.results.index(value)] for value in wanted]
        body = _Body((self._rows, self._size), self._by_rows, self._order)
        outs = body.made(wanted, written)
        last = written or makers[wanted[-1]]
        attrs = {
            "name": f"of {self._size} rows",
            "rows": self._rows,
            "size": self._size,
            "ways": tuple(ways),
        }
        block = Block([body.strip], body.ops, outs)
        self._ready.append(Op("strips", [], wanted, attrs, last.op.place, [block]))
        self._parts.clear()
        for value in rows:
            if self._by_rows[value].ways == (KEPT,):
                self._there.add(value)
            else:
                del self._by_rows[value]


class _Body:
    """What is done with each strip."""

    def __init__(
        self, strips: tuple[int, int], by_rows: dict[Value, Member], order: list[Member]
    ) -> None:
        self.strip = Value(NOTHING)
        self.ops: list[Op] = []
        self._rows, self._size = strips
        self._by_rows = by_rows
        self._order = order
        self._here: dict[Value, Value] = {}

    def made(self, wanted: list[Value], written: Member | None) -> list[Value]:
        """Add what makes some values, and what writes one; return the values in a strip."""
        needed = set(wanted)
        chosen = []
        for member in [written, *reversed(self._order)]:
            if member is None:
                continue
            if member is written or any(result in needed for result in member.op.results):
                chosen.append(member)
                # What is there as a whole by now is not made again.
                needed.update(v for v in member.taken(ROWS) if v in self._by_rows)
        for member in reversed(chosen):
            self._add(member, needed)
        return [self._here[value] for value in wanted]

    def _add(self, member: Member, needed: set[Value]) -> None:
        op = member.op
        if member.kind == "pipeline":
            self._add_pipeline(member, [value for value in op.results if value in needed])
            return
        operands = self._operands(member)
        attrs = dict(op.attrs)
        if member.kind in OF_STRIPS:
            operands = [self.strip, *operands]
            attrs |= {"of": op.attrs.get("name"), "name": op.kind}
            attrs["times"] = self._times(op.operands[0] if member.kind in ENDS else op.results[0])
        clone = Op(member.kind, operands, [], attrs, op.place)
        for value, way in zip(op.results, member.ways, strict=True):
            self._here[value] = Value(self._type(value, way), clone)
            if way == PLACED:
                rows = self._size * self._times(op.operands[0])
                at_most = rows if value.type.rows is None else min(rows, value.type.rows)
                self._here[value].type = value.type.shaped(at_most, value.type.columns)
        clone.results = [self._here[value] for value in op.results]
        self.ops.append(clone)

    def _add_pipeline(self, member: Member, results: list[Value]) -> None:
        op = member.op
        ways = dict(zip(op.results, member.ways, strict=True))
        used = {v for inner in _needed(op.regions[0], results) for v in inner.operands}
        operands = dict(zip(member.operands, self._operands(member, used), strict=True))
        body = _copied(op.regions[0], operands, results)
        for value, out in zip(results, body.outs, strict=True):
            out.type = self._type(value, ways[value])
            self._here[value] = out
        reads = [new for value, new in operands.items() if value in used]
        attrs = {"reads": reads}
        self.ops.append(Op("pipeline", reads, list(body.outs), attrs, op.place, [body]))

    def _operands(self, member: Member, used: set[Value] | None = None) -> list[Value]:
        return [
            self._taken(value)
            if role == ROWS and value.const is None and (used is None or value in used)
            else value
            for value, role in zip(member.operands, member.roles, strict=True)
        ]

    def _type(self, value: Value, way: str) -> Type:
        if way != ROWS:
            return value.type
        return value.type.shaped(self._size * self._times(value), value.type.columns)

    def _times(self, value: Value) -> int:
        """Return how many rows a matrix has for each that is cut."""
        return max(1, (value.type.rows or 0) // self._rows)

    def _taken(self, value: Value) -> Value:
        """Return the rows in a strip of a value, which may be there as a whole."""
        if value not in self._here:
            attrs = {"name": "of", "times": self._times(value)}
            op = Op("rows", [self.strip, value], [], attrs)
            self._here[value] = Value(self._type(value, ROWS), op)
            op.results = [self._here[value]]
            self.ops.append(op)
        return self._here[value]


def _needed(block: Block, outs: list[Value]) -> list[Op]:
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
