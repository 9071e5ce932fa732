"""From nodes to plans: what the engine has becomes its operations, all else calls NumPy.

See docs/decisions/053-numpy-functions-on-arrays-keep-numpys-rules.md
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.lang.arrays.calls import CallLowering, Expected
from freestone.lang.arrays.cells import CELLS, engine_name, name_of
from freestone.lang.arrays.nodes import TRUTH, Function, Node
from freestone.lang.arrays.plans import Operand, Plan
from freestone.lang.front.types.types import Type, matrix, scalar

SWAPPED = {
    **{name: name for name in ("add", "mul", "min", "max", "eq", "neq", "and", "or")},
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}
"""What a binary operation is called when its sides change places."""


def lowered(roots: Sequence[Node]) -> Lowering | CallLowering:
    """Make a plan of nodes: for the engine, or of NumPy's functions alone."""
    order = _by_rows(roots)
    # The same array is one input, however often it stands in an expression.
    arrays = {id(node.attrs["data"]): node for node in order if node.kind == "source"}
    kind = Lowering if all(map(_is_known, order)) else CallLowering
    return kind(roots, order, list(arrays.values()))


def _is_known(node: Node) -> bool:
    """Tell whether the engine has a form for a node and all that it takes."""
    return all(
        one.ndim <= 2 and one.dtype.kind in "biuf" and one.dtype.isnative
        for one in (node, *node.args)
    )


class Lowering:
    """Makes a plan of nodes.

    Attributes
    ----------
    plan : Plan
        What is made.
    sources : list of Node
        The arrays whose blocks are the first inputs.
    wholes : list of (Node, str)
        The values that are the other inputs, and the form they take in it.
    """

    def __init__(self, roots: Sequence[Node], order: Sequence[Node], sources: list[Node]) -> None:
        self.plan = Plan()
        self._made: dict[Node, int] = {}
        self._forms: dict[tuple[Node, str], Operand] = {}
        self.sources = sources
        self.plan.blocks = [Expected.of(node.attrs["data"]) for node in sources]
        self.wholes = list(
            dict.fromkeys((arg, form) for node in order for arg, form in _wholes(node))
        )
        self._inputs(order)
        for node in order:
            # What a mask chooses is made when something needs it: sums do without.
            if node.kind not in ("source", "filter"):
                self._made[node] = self._lowered(node)
        self.plan.outs = [self._row_by_row(node) for node in roots]

    def _inputs(self, order: Sequence[Node]) -> None:
        inputs: list[Type] = []
        places = {}
        for node in self.sources:
            places[id(node.attrs["data"])] = len(inputs)
            inputs.append(_type(node, sparse=self.plan.blocks[len(inputs)].sparse))
        for node in order:
            if node.kind == "source":
                self._made[node] = places[id(node.attrs["data"])]
        for node, form in self.wholes:
            if node.attrs.get("weak"):
                self._forms[node, form] = (node.attrs["data"], _cell(node.dtype))
                continue
            self._forms[node, form] = len(inputs)
            inputs.append(_whole_type(node, form))
        self.wholes = [pair for pair in self.wholes if not pair[0].attrs.get("weak")]
        self.plan.inputs = inputs

    def _operand(self, node: Node, form: str = "cells") -> Operand:
        return self._row_by_row(node) if node.rows is not None else self._forms[node, form]

    def _row_by_row(self, node: Node) -> int:
        if node not in self._made:
            self._made[node] = self._lowered(node)
        return self._made[node]

    def _lowered(self, node: Node) -> int:
        native = getattr(self, f"_{node.kind}", None)
        made = None if native is None else native(node)
        return self._applied(node) if made is None else int(made)

    def _applied(self, node: Node) -> int:
        """Call the node's function of NumPy's with blocks."""
        forms = dict(_wholes(node))
        operands = [self._operand(arg, forms.get(arg, "cells")) for arg in node.args]
        dtypes = tuple(None if arg.attrs.get("weak") else arg.dtype.str for arg in node.args)
        type, name = _type(node), node.attrs.get("ufunc") or node.attrs.get("name") or node.kind
        ndims = tuple(arg.ndim for arg in node.args)
        side = (1, -1) if node.rows is None else (-1, 1)
        function = functools.partial(in_matrices, node.attrs["function"], ndims, side)
        return self.plan.emit("apply", operands, type, name=name, function=function, dtypes=dtypes)

    def _cells(self, node: Node) -> int | None:
        name = node.attrs["ufunc"]
        if name == "astype" and {name_of(node.dtype), name_of(node.args[0].dtype)} <= CELLS.keys():
            return self._cast(node)
        if name == "where":
            return self._choose(node)
        loop = node.attrs.get("loop")
        if loop is None or (loop[0] == TRUTH and any(arg.dtype != TRUTH for arg in node.args)):
            return None
        if name == "square" and loop[0] in (np.float32, np.float64):
            side = self._operand(node.args[0])
            return self._binary("mul", [side, side], loop, node)
        if name in ("logical_not", "invert") and loop[0] == TRUTH:
            return self._binary("eq", [self._operand(node.args[0]), (0, "ui8")], loop, node)
        if name == "isnan" and loop[0] in (np.float32, np.float64):
            type = _type(node).of(CELLS[name_of(loop[0])])
            mark = self.plan.emit("unary", [self._operand(node.args[0])], type, name="isNan")
            return self.plan.emit("cast", [mark], _type(node))
        word = engine_name(name, loop)
        if word is None or not all(_holds(loop[0], arg) for arg in node.args):
            return None
        operands = [self._operand(arg) for arg in node.args]
        if len(operands) == 2:
            return self._binary(word, operands, loop, node)
        if _cell(node.args[0].dtype) != CELLS[name_of(loop[0])]:
            return None
        return self.plan.emit("unary", operands, _type(node), name=word)

    def _choose(self, node: Node) -> int | None:
        """Append a choice between two sides, if all are of types that the engine knows."""
        condition, *sides = node.args
        known = {name_of(condition.dtype), name_of(node.dtype)} <= CELLS.keys()
        exact = all(
            side.attrs.get("weak") or np.can_cast(side.dtype, node.dtype, "safe") for side in sides
        )
        if not known or not exact or condition.rows is None:
            return None
        if not all(_holds(node.dtype, side) for side in sides):
            return None
        operands = [self._operand(arg) for arg in node.args]
        return self.plan.emit("choose", operands, _type(node), broadcasts=True)

    def _cast(self, node: Node) -> int | None:
        (arg,) = node.args
        if node.dtype == bool:
            loop = (arg.dtype, arg.dtype, node.dtype)
            return self._binary("neq", [self._operand(arg), (0, _cell(arg.dtype))], loop, node)
        if node.dtype.kind in "iu" and arg.dtype.kind == "f":
            return None
        return self.plan.emit("cast", [self._operand(arg)], _type(node))

    def _binary(
        self, name: str, operands: list[Operand], loop: Sequence[Any], node: Node
    ) -> int | None:
        """Append a binary operation; only its right side may be narrower than the result."""
        result = _type(node)
        left, right = (self.plan.type_of(operand) for operand in operands)
        if left.data == "matrix" and not _covers(left, result):
            if name not in SWAPPED or not _covers(right, result):
                return None
            name, operands = SWAPPED[name], operands[::-1]
        cell = CELLS[name_of(loop[0])]
        return self.plan.emit("binary", operands, result, name=name, cell=cell)

    def _rows(self, node: Node) -> int | None:
        name, arg = node.attrs.get("name"), node.args[0]
        if name == "matmul":
            cell = _cell(node.dtype)
            same = all(_cell(side.dtype) == cell for side in node.args)
            if not same or cell not in ("f32", "f64"):
                return None
            operands = [self._operand(arg), self._operand(node.args[1], "right")]
            return self.plan.emit("matmul", operands, _type(node))
        # A sum along no axes, axis=(), leaves all columns.
        leaves_columns = node.ndim > 1 and node.shape[1] != 1
        if name != "sum" or leaves_columns or not _summable(arg, node):
            return None
        side = self._as(self._operand(arg), _cell(node.dtype))
        return self.plan.emit("agg_row", [side], _type(node), name="sum")

    def _total(self, node: Node) -> int | None:
        arg, *others = node.args
        if others:
            return None
        name = {"any": "max", "all": "min"}.get(node.attrs["name"], node.attrs["name"])
        if node.attrs.get("counts"):
            return self._count(arg, node) if arg.kind == "filter" else None
        if name not in ("sum", "min", "max"):
            return None
        if name != "sum" and (arg.shape[0] is None or 0 in arg.shape):
            return None
        if not _summable(arg, node):
            return None
        side = self._operand(arg) if name != "sum" else self._kept(arg)
        side = side if name != "sum" else self._as(side, _cell(node.dtype))
        cell = self.plan.type_of(side).cell
        if len(node.attrs["axes"]) == arg.ndim:
            return self.plan.emit("agg_all", [side], scalar(cell), name=name)
        return self.plan.emit("agg_col", [side], matrix(cell, 1, arg.shape[1]), name=name)

    def _kept(self, arg: Node) -> Operand:
        """Return what is summed up for a node: for what a mask chooses, zeros where it does not."""
        if arg.kind != "filter" or arg in self._made or arg.args[0].kind == "filter":
            return self._operand(arg)
        chosen, mask = arg.args
        operands = [self._operand(mask), self._operand(chosen), (0, _cell(chosen.dtype))]
        return self.plan.emit("choose", operands, _type(chosen), broadcasts=True)

    def _count(self, arg: Node, node: Node) -> int:
        """Count what a mask chooses, without it."""
        mask = self._as(self._operand(arg.args[1]), "si64")
        count = self.plan.emit("agg_all", [mask], scalar("si64"), name="sum")
        width = (node.attrs["width"], "si64")
        return self.plan.emit("binary", [count, width], scalar("si64"), name="mul", cell="si64")

    def _as(self, operand: Operand, cell: str) -> Operand:
        type = self.plan.type_of(operand)
        return operand if type.cell == cell else self.plan.emit("cast", [operand], type.of(cell))

    def _product(self, node: Node) -> int | None:
        left, right = node.args
        cell = _cell(node.dtype)
        if cell not in ("f32", "f64") or not all(_cell(s.dtype) == cell for s in node.args):
            return None
        type = self.plan.type_of(self._operand(left))
        flipped = type.shaped(type.columns, type.rows)
        transposed = self.plan.emit("transpose", [self._operand(left)], flipped)
        shape = type.columns, self.plan.type_of(self._operand(right)).columns
        return self.plan.emit("matmul", [transposed, self._operand(right)], matrix(cell, *shape))


def _by_rows(roots: Sequence[Node]) -> list[Node]:
    """Return what is done row by row for some nodes, in order; what is whole stays outside."""
    seen: set[Node] = set()
    found: list[Node] = []
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.args) if arg.rows is not None]
    return found


def _wholes(node: Node) -> list[tuple[Node, str]]:
    """Return what a node needs that is whole, and in which form."""
    form = "right" if node.attrs.get("name") == "matmul" else "cells"
    return [(arg, form) for arg in node.args if arg.rows is None]


def _holds(dtype: np.dtype[Any], arg: Node) -> bool:
    """Tell whether a type holds a number of Python's; NumPy itself has rules for all others."""
    if not arg.attrs.get("weak") or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= arg.attrs["data"] <= limits.max)


def _covers(type: Type, result: Type) -> bool:
    return (type.rows, type.columns) == (result.rows, result.columns)


def _summable(arg: Node, node: Node) -> bool:
    if node.dtype.kind in "iu" and arg.dtype.kind == "f":
        # What NaN and numbers out of range become is NumPy's to say.
        return False
    kinds = {name_of(arg.dtype), name_of(node.dtype)}
    return kinds <= CELLS.keys() and (arg.dtype == node.dtype or node.dtype.kind != "b")


def _cell(dtype: np.dtype[Any]) -> str:
    name = name_of(dtype)
    return CELLS.get(name, name)


def _type(node: Node, sparse: bool = False) -> Type:
    columns = 1 if node.ndim == 1 else node.shape[1] if node.ndim == 2 else 1
    rows = node.shape[0] if node.ndim else 1
    # A block may have no row of the only one, which the engine would take for a whole row.
    rows = None if node.rows is not None and rows == 1 else rows
    return Type("matrix", _cell(node.dtype), rows, columns, csr=sparse)


def _whole_type(node: Node, form: str) -> Type:
    if is_single(node, form):
        return scalar(_cell(node.dtype))
    return matrix(_cell(node.dtype), *sides(node.shape, form))


def in_matrices(
    function: Function, ndims: Sequence[int], side: tuple[int, int], *operands: Any
) -> Any:
    """Call a function of NumPy's arrays with the engine's matrices, and return one."""
    out = function(*map(_natural, operands, ndims))
    return out if out is None or np.ndim(out) == 2 else np.reshape(out, side)


def _natural(operand: Any, ndim: int) -> Any:
    """Return a matrix in as many dimensions as NumPy has for it; numbers are none."""
    if isinstance(operand, np.ndarray) and ndim < 2:
        return operand.reshape(-1 if ndim else ())
    return operand


def is_single(node: Node, form: str) -> bool:
    """Tell whether what is whole is one cell, which goes with any others."""
    return not node.ndim or (form == "cells" and all(side == 1 for side in node.shape))


def sides(shape: Sequence[int | None], form: str) -> tuple[int, int]:
    """Return the shape of a matrix for what is whole: a row, or a column on the right of @."""
    lengths = [side or 0 for side in shape]
    if len(lengths) == 1:
        return (lengths[0], 1) if form == "right" else (1, lengths[0])
    return lengths[0], lengths[1]
