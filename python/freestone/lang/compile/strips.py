"""Row strips: what would need more memory than there is runs on some rows at a time, if it can.

Operations that work row by row are not run where they stand. Where something needs their sums or
extremes, some or all of their rows (a column of results, say), or writes or prints them, one
operation does that strip by strip: it makes some rows, or reads them, and keeps nothing of them but
what was asked for. What is asked for later takes another round over the strips, in which rows are
made anew. What may fail runs before the next output, though nobody has asked for it by then: a
script that fails prints and writes what it does when it runs as a whole.

A strip of a matrix with k times the rows has k times as many; one of what a filter keeps has as
many as are left of it. What is reversed is made of the rows of the other end, and what is put
below something else of those rows of both that lie in a strip.

See docs/decisions/041-row-strips-are-computed-on-demand.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from freestone.lang.compile.bodies import Body
from freestone.lang.compile.memory import limit_of, peak_of
from freestone.lang.compile.roles import ROWS, WHOLE
from freestone.lang.compile.rows import BY_ROWS, ENDS, KEPT, Member, bases_of, members_of
from freestone.lang.front.graph.failing import may_fail
from freestone.lang.front.graph.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.settings import Settings

STRIP_NBYTES = 16 << 20
"""Bytes of the widest matrix in a strip: enough for an operation's start not to count."""
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
        rows, self._size, self._nbytes = strips
        self._bases = bases_of(ops, rows)
        self._members = members_of(ops, self._bases, paths)
        self._rest = list(self._members)
        self._coming = {result for op in self._rest for result in op.results}
        self._ready: list[Op] = []
        self._order: list[Member] = []
        self._by_rows: dict[Value, Member] = {}
        self._parts: dict[Value, Member] = {}
        self._transposed: dict[Value, Op] = {}
        # What may fail and has not run, by what its strips are cut from.
        self._failing: dict[int, list[Value]] = {}
        # What a filter kept and is there as a whole: strips can't be found in it any more.
        self._there: set[Value] = set()

    def done(self) -> list[Op]:
        """Return the operations, with those that run strip by strip."""
        while self._rest:
            self._put(self._rest.pop(0))
        self._need(self._outs)
        self._run_failing()
        return self._ready

    def _put(self, op: Op) -> None:
        member = self._member(op)
        if _is_output(op):
            self._run_failing(but=member)
        if op.kind == "transpose" and op.operands[0] in self._by_rows:
            self._transposed[op.results[0]] = op
        elif member is None:
            self._need(outer_operands(op), op)
            self._ready.append(op)
        else:
            self._need(member.whole, op)
            self._need((value for value in member.cut if value not in self._by_rows), op)
            self._keep(member)
        # Not before: what is put ahead of it must not read it.
        self._coming.difference_update(op.results)

    def _keep(self, member: Member) -> None:
        if member.ways == (WHOLE,):
            self._flush([], member)
            return
        self._order.append(member)
        if member.op.pure and may_fail(member.op):
            self._failing.setdefault(member.base, []).extend(member.op.results)
        for value, way in zip(member.op.results, member.ways, strict=True):
            (self._by_rows if way in BY_ROWS else self._parts)[value] = member

    def _member(self, op: Op) -> Member | None:
        member = self._members[op]
        if member is not None and member.kind in ENDS and self._is_there(op):
            return None
        transposed = self._transposed.get(op.operands[0]) if op.kind == "matmul" else None
        if transposed is None:
            return member
        # t(A) @ B: a sum, over the strips, of products of their rows.
        sides = transposed.operands[0], op.operands[1]
        rows = sides[0].type.rows
        if rows is None or rows != sides[1].type.rows:
            return member
        return Member(op, sides, (ROWS, ROWS), ("sum",), "cross", self._bases[rows])

    def _is_there(self, op: Op) -> bool:
        """Tell whether what an operation ends with is there as a whole, or might as well be."""
        value = op.operands[0]
        if value not in self._by_rows or value in self._there:
            return True
        small = value.type.nbytes is not None and value.type.nbytes <= self._nbytes
        return small and op.kind == "print"

    def _run_failing(self, but: Member | None = None) -> None:
        """Run what may fail before an output, `but` what a file is written with: it is undone."""
        written = but.base if but is not None and but.kind == "append_rows" else None
        if self._failing.keys() - {written}:
            self._look_ahead(is_bound=True)
            self._flush([], None)

    def _need(self, values: Iterable[Value], reader: Op | None = None) -> None:
        """See to it that values are there as a whole, for an operation if not for the end."""
        wanted = list(dict.fromkeys(values))
        transposed = [self._transposed[value] for value in wanted if value in self._transposed]
        inner = [op.operands[0] for op in transposed]
        rows = [
            value
            for value in (*wanted, *inner)
            if value in self._by_rows and value not in self._there
        ]
        if rows or any(value in self._parts for value in wanted):
            is_bound = reader is not None and (_is_output(reader) or may_fail(reader))
            self._look_ahead(is_bound=is_bound)
            self._flush(list(dict.fromkeys(rows)), None)
        # Only now: what was put ahead must not read what is turned here.
        for value in wanted:
            self._transposed.pop(value, None)
        self._ready += transposed

    def _look_ahead(self, *, is_bound: bool) -> None:
        """Put what can be done in the same round over the strips, though it comes later.

        What may fail is not put ahead of an output, nor of what may fail and is not put ahead;
        `is_bound` tells if one of those comes next.
        """
        for op in list(self._rest):
            is_bound = is_bound or _is_output(op)
            fails = may_fail(op)
            if is_bound and fails:
                continue
            member = self._member(op)
            if member is None or not self._can_be_ahead(member):
                is_bound = is_bound or fails
                continue
            self._rest.remove(op)
            self._coming.difference_update(op.results)
            self._keep(member)

    def _can_be_ahead(self, member: Member) -> bool:
        """Tell whether all that an operation reads is there, or comes in the same round."""
        if member.ways == (WHOLE,) or any(v in self._coming for v in member.op.operands):
            return False
        late = self._parts, self._by_rows, self._transposed
        if any(value in each for value in member.whole for each in late):
            return False
        return not any(v in each for v in member.cut for each in (self._parts, self._transposed))

    def _flush(self, rows: list[Value], written: Member | None) -> None:
        """Run strip by strip what gives all parts so far, some rows, and what is written."""
        wanted: dict[int, list[Value]] = {} if written is None else {written.base: []}
        for value in (*rows, *self._parts):
            wanted.setdefault(self._maker(value).base, []).append(value)
        if written is None:
            for base in self._failing:
                wanted.setdefault(base, [])
        for base, values in wanted.items():
            last = written if written is not None and written.base == base else None
            self._ready.append(self._strips(base, values, last))
        self._parts.clear()
        for value in rows:
            if self._by_rows[value].ways == (KEPT,):
                self._there.add(value)
            else:
                del self._by_rows[value]

    def _maker(self, value: Value) -> Member:
        return self._parts[value] if value in self._parts else self._by_rows[value]

    def _strips(self, base: int, wanted: list[Value], written: Member | None) -> Op:
        """Return what runs strip by strip to give some values, and to write one; it may fail."""
        failing = self._failing.pop(base, [])
        last = written or self._maker([*wanted, *failing][-1])
        makers = [self._maker(value) for value in wanted]
        pairs = zip(wanted, makers, strict=True)
        ways = tuple(maker.ways[maker.op.results.index(value)] for value, maker in pairs)
        size = min(self._size, base)
        body = Body(size, self._bases, self._by_rows, self._order)
        outs = body.made(wanted, written, failing)
        attrs = {"name": f"of {size} rows", "rows": base, "size": size, "ways": ways}
        block = Block([body.strip], body.ops, outs)
        return Op("strips", [], list(wanted), attrs, last.op.place, [block])


def _is_output(op: Op) -> bool:
    """Tell whether an operation does what can be seen from outside; reading can't be."""
    return not op.pure and op.kind != "read"
