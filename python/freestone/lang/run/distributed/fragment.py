"""Fragments: the part of a script that runs on the rows of one block."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import cloudpickle
import numpy as np

from freestone import _native
from freestone.lang.compile.roles import ROWS, Roles, Shape, roles_of
from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.types.types import Type
from freestone.lang.run.distributed.split import joined, transposed
from freestone.lang.run.extensions.calling import ROWS_LIKE
from freestone.lang.run.local import Run
from freestone.lang.settings import Settings

__all__ = ["Fragment", "fragment_of", "join_rows", "run_fragment"]

Input = tuple[int, str]


@dataclass
class Fragment:
    """What runs on every block.

    Parameters
    ----------
    block : Block
        The operations; its arguments are the inputs.
    inputs : list of (int, str)
        For each input, which operand of the operation it is, and by ``"rows"`` or ``"whole"``.
    roles : list of Roles
        For each result, what it is and how wide.
    """

    block: Block = field(default_factory=Block)
    inputs: list[Input] = field(default_factory=list)
    roles: list[Roles] = field(default_factory=list)

    def encoded(self, settings: Settings) -> bytes:
        """Return what a worker decodes and runs."""
        rows = tuple(role.result == ROWS for role in self.roles)
        alone = replace(settings, num_threads=1, pin_workers=False, statistics=False, explain=())
        encode = pickle.dumps
        if any(not isinstance(item, tuple) for item in settings.kernels):
            # Functions of the program's main module are sent by value.
            encode = cloudpickle.dumps
        return encode((self.block, rows, alone), protocol=5)


def fragment_of(op: Op, shapes: Sequence[Shape], rows: int) -> Fragment | None:
    """Make the fragment of an operation, or of a pipeline, for blocks of so many rows in all.

    A matrix that a pipeline reads both by rows and as a whole becomes two inputs.
    """
    made = Fragment()
    values: dict[tuple[Value, str], Value] = {}
    known: dict[Value, Shape] = dict(zip(op.operands, shapes, strict=True))
    places = {operand: at for at, operand in enumerate(op.operands)}
    results: dict[Value, Roles] = {}
    inside = op.regions[0].ops if op.kind == "pipeline" else [op]
    for inner in inside:
        roles = roles_of(inner, [known.get(value, ()) for value in inner.operands], rows)
        if roles is None:
            return None
        operands = [
            _taken(made, values, places, operand, role)
            for operand, role in zip(inner.operands, roles.operands, strict=True)
        ]
        clone = replace(inner, operands=operands, results=[], regions=[])
        if inner.kernel is not None and roles.result == ROWS:
            _expect_rows(clone, roles)
        clone.results = [
            Value(_in_rows(value.type, clone, roles), clone) for value in inner.results
        ]
        made.block.ops.append(clone)
        for value, copy in zip(inner.results, clone.results, strict=True):
            values[value, ROWS] = copy
            known[value] = (rows, roles.columns)
            results[value] = roles
    outs = op.regions[0].outs if op.kind == "pipeline" else op.results
    made.block.outs = [values[value, ROWS] for value in outs]
    made.roles = [results[value] for value in outs]
    if op.kind == "pipeline":
        _fuse(made.block, op)
    return made


def _expect_rows(op: Op, roles: Roles) -> None:
    """Have what a kernel of others' returns compared with the rows of its block."""
    if op.kind != "filter_rows":
        op.attrs = op.attrs | {ROWS_LIKE: roles.operands.index(ROWS)}


def _in_rows(type: Type, op: Op, roles: Roles) -> Type:
    """Return the type of a matrix in blocks: COO are there CSR."""
    if op.kernel is not None and roles.result == ROWS:
        type = type.shaped(None, type.columns if roles.columns is None else roles.columns)
    return replace(type, csr=True, coo=False) if type.coo else type


def _taken(
    made: Fragment,
    values: dict[tuple[Value, str], Value],
    places: dict[Value, int],
    operand: Value,
    role: str,
) -> Value:
    if operand.const is not None:
        return Value(operand.type, None, operand.const)
    key = operand, role
    if key not in values:
        values[key] = Value(operand.type)
        made.block.args.append(values[key])
        made.inputs.append((places[operand], role))
    return values[key]


def _fuse(block: Block, op: Op) -> None:
    body = Block([], block.ops, block.outs)
    attrs = {"reads": list(block.args)}
    block.ops = [Op("pipeline", list(block.args), list(block.outs), attrs, op.place, [body])]


@lru_cache(maxsize=256)
def _decoded(encoded: bytes) -> tuple[Block, tuple[bool, ...], Settings]:
    found: tuple[Block, tuple[bool, ...], Settings] = pickle.loads(encoded)
    return found


def run_fragment(encoded: bytes, *inputs: Any) -> Any:
    """Run a fragment on the rows of one block, on a worker."""
    block, rows, settings = _decoded(encoded)
    values = dict(zip(block.args, inputs, strict=True))
    results = [
        _native.blocks.Stored(result) if by_rows else result
        for result, by_rows in zip(Run(settings).block(block, values), rows, strict=True)
    ]
    return tuple(results) if len(results) > 1 else results[0]


def join_rows(is_transposed: bool, *parts: Any) -> Any:
    """Put the rows of blocks below each other, on a worker, and perhaps transpose them."""
    whole = joined(parts)
    if is_transposed:
        whole = transposed(whole)
        whole = whole.copy() if isinstance(whole, np.ndarray) else whole
    return _native.blocks.Stored(whole)
