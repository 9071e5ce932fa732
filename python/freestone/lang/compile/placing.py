"""Tells, before a script runs, where its operations will: on blocks, or in the script's process."""

from __future__ import annotations

from freestone.lang.compile.expanding import by_rows
from freestone.lang.compile.roles import ROWS, Roles, Shape, roles_of
from freestone.lang.front.graph.graph import Block, Function, Op, Program, Value
from freestone.lang.settings import Settings

__all__ = ["BLOCKS", "FETCHED", "PARTS", "SOURCES", "place"]

SOURCES = frozenset({"given", "fill", "seq", "rand", "sample", "read", "literal"})
"""Operations that make matrices of nothing: large ones are cut into blocks at once."""

FRAMES = frozenset(
    {
        *("filter_rows", "frame_to_matrix", "group_sum", "index", "inner_join", "order"),
        *("register_view", "relabel", "shape", "sql", "write"),
    }
)
"""Operations of frames that are done to their blocks."""

BLOCKS, PARTS, FETCHED = "on blocks", "parts of blocks", "here, from fetched rows"
_MEANS = ("mean", "var", "stddev")

Places = dict[Value, str]


def place(program: Program, settings: Settings) -> None:
    """Write to every operation where it runs, if matrices are cut into blocks.

    Operations that would fetch all rows become others that fetch less, where there are such.
    """
    if settings.distributed:
        for block in program.blocks():
            block.ops[:] = [each for op in block.ops for each in by_rows(op)]
        places: Places = {}
        _Placing(settings).block(program.main, places)
        program.on_blocks = set(places)


class _Placing:
    """What is known of values: by rows in blocks, turned, or (nothing) here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._inside: set[Function] = set()
        self._asks_blocks = False

    def block(self, block: Block, places: Places) -> None:
        for op in block.ops:
            if op.kind == "call":
                self._call(op, places)
            elif op.regions and op.kind != "pipeline":
                self._regions(op, places)
            else:
                self._op(op, places)

    def _call(self, op: Op, places: Places) -> None:
        function: Function = op.attrs["function"]
        _hand(function.block.args, op.operands, places)
        if function not in self._inside:
            self._inside.add(function)
            self.block(function.block, places)
            self._inside.discard(function)
        _hand(op.results, function.block.outs, places)

    def _regions(self, op: Op, places: Places) -> None:
        carried = op.operands[op.attrs.get("ends", 0) :] if op.kind != "if" else []
        for region in op.regions:
            args = region.args[len(region.args) - len(carried) :]
            _hand(args, carried, places)
            self.block(region, places)
            if op.kind != "if" and len(region.outs) == len(args):
                # What one round makes the next one is given.
                _hand(args, region.outs, places)
                self.block(region, places)
            if len(region.outs) == len(op.results):
                _hand(op.results, region.outs, places)

    def _op(self, op: Op, places: Places) -> None:
        if op.kind in SOURCES:
            if self._is_large(op):
                op.where = BLOCKS
                places[op.results[0]] = ROWS
            return
        if op.kind == "sql" and self._asks_blocks:
            op.where, places[op.results[0]] = BLOCKS, ROWS
        if not any(value in places for value in op.operands):
            return
        op.where = FETCHED
        if any(value.type.data == "frame" for value in op.operands):
            self._of_frames(op, places)
            return
        for value in op.operands:
            if value in places and self._placed(op, value, places):
                return

    def _of_frames(self, op: Op, places: Places) -> None:
        if op.kind not in FRAMES:
            return
        op.where = "" if op.kind == "shape" else BLOCKS
        self._asks_blocks |= op.kind == "register_view"
        for value in op.results:
            if value.type.data in ("frame", "matrix"):
                places[value] = ROWS

    def _is_large(self, op: Op) -> bool:
        type, nbytes = op.results[0].type, op.results[0].type.nbytes
        is_matrix = type.data == "matrix" and type.cell != "str"
        is_file = type.data == "frame" and op.kind == "read"
        if not (is_matrix or is_file) or type.rows == 1:
            return False
        return nbytes is None or nbytes >= self._settings.distributed_bytes

    def _placed(self, op: Op, value: Value, places: Places) -> bool:
        transposed = places[value] != ROWS
        kind, result = op.kind, op.results[0]
        if kind == "index" and value is not op.operands[0]:
            # Positions in blocks are fetched.
            return False
        if kind == "shape":
            op.where = ""
        elif self._gives_parts(op, value, transposed):
            op.where = PARTS
        elif kind == "transpose":
            op.where, places[result] = BLOCKS, ROWS if transposed else "turned"
        elif kind in ("unary", "cast", "binary", "agg_col") and transposed:
            op.where, places[result] = BLOCKS, "turned"
        elif kind == "write" and not transposed:
            op.where = BLOCKS
        elif kind == "index" and op.attrs["kinds"][0] == "list" and not transposed:
            op.where = PARTS
        elif kind in ("rbind", "index") and not transposed:
            op.where, places[result] = BLOCKS, ROWS
        else:
            return not transposed and self._by_rows(op, value.type.rows, places)
        return True

    def _gives_parts(self, op: Op, value: Value, transposed: bool) -> bool:
        """Tell whether blocks give parts of the result, besides what `roles_of` knows."""
        if op.kind == "matmul":
            return transposed == (value is op.operands[0])
        if transposed:
            return op.kind in ("agg_all", "agg_row")
        return op.kind in ("agg_all", "agg_col") and op.attrs["name"] in _MEANS

    def _by_rows(self, op: Op, rows: int | None, places: Places) -> bool:
        inside = op.regions[0].ops if op.kind == "pipeline" else [op]
        known: list[tuple[Op, Roles]] = []
        for inner in inside:
            roles = roles_of(inner, [_shape(value) for value in inner.operands], rows)
            if roles is None:
                return False
            known.append((inner, roles))
        for inner, roles in known:
            self._mark(inner, roles, places)
        outs = op.regions[0].outs if op.kind == "pipeline" else op.results
        op.where = BLOCKS if any(value in places for value in outs) else PARTS
        return True

    def _mark(self, op: Op, roles: Roles, places: Places) -> None:
        if roles.result == ROWS:
            places[op.results[0]] = ROWS
        op.where = BLOCKS if roles.result == ROWS else PARTS


def _hand(to: list[Value], values: list[Value], places: Places) -> None:
    for value, other in zip(to, values, strict=False):
        if other in places:
            places[value] = places[other]


def _shape(value: Value) -> Shape:
    return () if value.type.data == "scalar" else (value.type.rows, value.type.columns)
