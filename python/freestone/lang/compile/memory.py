"""How much memory a plan needs at most, before it runs; one that can't fit is refused.

Sizes that are not known before the script runs count nothing, nor do CSR of which
nobody knows how many cells they store. Results inside of pipelines are never
stored and count nothing either. What an operation converts on its way counts once more. Rows in
blocks of a cluster lie in the workers' caches, which go to disk; they count where they are fetched.
"""

from __future__ import annotations

from collections.abc import Iterable

from freestone.errors.lang import ScriptCompileError
from freestone.lang.compile.placing import BLOCKS, FETCHED, PARTS, SOURCES
from freestone.lang.front.graph.graph import Block, Function, Op, Program, Value, outer_operands
from freestone.lang.front.parse.source import failure
from freestone.lang.settings import Settings
from freestone.units import format_nbytes, machine_nbytes

VIEWS = frozenset({"transpose"})
"""Operations whose result is the operand's memory."""

Peak = tuple[int, Op | None]


def check(program: Program, settings: Settings) -> None:
    """Find the most memory that a program needs, and refuse it if there is less.

    Raises
    ------
    ScriptCompileError
        With the place of the operation that needs most.
    """
    program.peak = peak_of(program)
    nbytes, op = program.peak
    limit = limit_of(settings)
    if op is None or nbytes <= limit:
        return
    needed = f"this needs {format_nbytes(nbytes)} of memory at {op.name}"
    there = f"there are {format_nbytes(limit)}"
    if settings.distributed:
        problem = (
            f"{needed}, in the script's process, which fetches the rows of its blocks, and {there} "
            "(--memory); write the result to a file, or take parts or sums of it"
        )
    else:
        problem = (
            f"{needed}, with strips of rows where those go, and {there}; use smaller matrices, "
            "--select-matrix-repr for sparse ones, or --distributed"
        )
    raise failure(ScriptCompileError, problem, op.place)


def peak_of(program: Program) -> Peak:
    """Return the most bytes that a program needs at once in its process, and where."""
    return _Measuring(program.on_blocks).block(program.main)


def limit_of(settings: Settings) -> int:
    """Return the bytes that a program may need."""
    return settings.memory_bytes or machine_nbytes()


class _Measuring:
    def __init__(self, on_blocks: set[Value]) -> None:
        self._on_blocks = on_blocks
        self._inside: set[Function] = set()

    def block(self, block: Block) -> Peak:
        """Return the most that a block holds at once, its arguments included, and when."""
        roots: dict[Value, Value] = {}
        for op in block.ops:
            if op.kind in VIEWS:
                roots[op.results[0]] = roots.get(op.operands[0], op.operands[0])
        dying = _dying(block, roots)
        mine = {value for value in block.args if value not in self._on_blocks}
        live = _total(mine)
        peak: Peak = (live, None)
        for op in block.ops:
            results = [] if op.kind in VIEWS else op.results
            stored = [value for value in results if value not in self._on_blocks]
            if op.where == FETCHED:
                # They stay here until nobody needs them any more.
                fetched = {roots.get(value, value) for value in op.operands}
                fetched = (fetched & self._on_blocks) - mine
                mine |= fetched
                live += _total(fetched)
            inner = self._inner(op)
            extra = max(inner[0], _total(stored) + _converted(op) + _sent(op))
            if op.kind == "strips":
                # What comes of them is there while they run.
                extra = inner[0] + _total(stored)
            if live + extra > peak[0]:
                within = op.kind == "strips" or extra == inner[0]
                worst = inner[1] if inner[1] is not None and within else op
                peak = live + extra, worst
            mine.update(stored)
            live += _total(stored) - _total(value for value in dying[op] if value in mine)
        return peak

    def _inner(self, op: Op) -> Peak:
        if op.kind == "pipeline":
            return 0, None
        if op.kind != "call":
            peaks = [self.block(region) for region in op.regions]
            return max(peaks, key=lambda peak: peak[0], default=(0, None))
        function: Function = op.attrs["function"]
        if function in self._inside:
            # How deep a function calls itself is not known.
            return 0, None
        self._inside.add(function)
        try:
            return self.block(function.block)
        finally:
            self._inside.discard(function)


def _sent(op: Op) -> int:
    """Return the bytes of what is made here before it is cut into blocks; files are read there."""
    is_made = op.where == BLOCKS and op.kind in SOURCES and op.kind not in ("given", "read")
    return _total(op.results) if is_made else 0


def _dying(block: Block, roots: dict[Value, Value]) -> dict[Op, list[Value]]:
    found: dict[Op, list[Value]] = {}
    seen = {roots.get(value, value) for value in block.outs}
    for op in reversed(block.ops):
        read = dict.fromkeys(roots.get(v, v) for v in (*op.results, *outer_operands(op)))
        found[op] = [value for value in read if value not in seen]
        seen.update(read)
    return found


def _total(values: Iterable[Value]) -> int:
    return sum(_nbytes(value) for value in values)


def _nbytes(value: Value) -> int:
    type = value.type
    if type.data not in ("matrix", "frame") or (type.csr and type.sparsity is None):
        return 0
    return type.nbytes or 0


def _converted(op: Op) -> int:
    """Return the bytes that an operation makes besides its results."""
    if op.kind == "pipeline" or op.regions or op.kind in VIEWS or op.where in (BLOCKS, PARTS):
        return 0
    made = op.results[0].type if op.results else None
    if made is not None and made.csr and "rand" in (op.kind, op.attrs.get("name")):
        # Columns are drawn as numbers of eight bytes, and cells have rows before there are offsets.
        return 3 * (made.nbytes or 0)
    if op.kind == "cumulate_rows":
        # The rows, below the last one of the strip before.
        return _total(op.results)
    matrices = [value for value in op.operands if value.type.data == "matrix"]
    cells = {value.type.cell for value in (*matrices, *op.results)}
    if op.kind in ("binary", "unary", "cast", "choose", "bin", "finite_end") or len(cells) > 1:
        return _total(matrices) + _total(op.results)
    return 0
