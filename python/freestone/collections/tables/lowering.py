"""From a plan to stages: what is done part by part, and what needs rows of all parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from freestone.client import Client
from freestone.collections.tables.calls import ByHash, Cutting
from freestone.collections.tables.needs import Columns, needs
from freestone.collections.tables.plan import Leaf, Node, Op
from freestone.collections.tables.pushing import are_plain, as_where, tests_of
from freestone.collections.tables.rowwise import row_wise
from freestone.collections.tables.stages import Stage

if TYPE_CHECKING:
    from freestone.collections.frame import Frame, Scan

__all__ = [
    "LIMITS",
    "Limits",
    "cut",
    "forget_members",
    "lower",
    "lower_input",
    "may_hash",
    "members_of",
    "rule",
    "shuffled",
    "slots_of",
    "unwrapped",
    "width_of",
]


@dataclass
class Limits:
    """Sizes by which a plan is cut into calls.

    Attributes
    ----------
    small_nbytes : int
        Rows of fewer bytes are taken by one call.
    part_nbytes : int
        No call takes more, if blocks are not larger.
    broadcast_nbytes : int
        A larger table is not sent to all workers for a join.
    repeated_nbytes : int
        No more is read by the parts of a join, all together, to make a small table again in each.
    here_nbytes : int
        Rows of fewer bytes may be taken by the program itself, as the last step of a plan.
    """

    small_nbytes: int = 4 << 20
    part_nbytes: int = 256 << 20
    broadcast_nbytes: int = 256 << 20
    repeated_nbytes: int = 16 << 20
    here_nbytes: int = 64 << 10

    def parts(self, nbytes: int, *clients: Client | None) -> int:
        """Return into how many parts rows are to be cut, which clusters hold."""
        if nbytes <= self.small_nbytes:
            return 1
        return max(*map(slots_of, clients), -(-nbytes // self.part_nbytes))


LIMITS = Limits()

Rule = Callable[[Op, Columns], Stage]
_RULES: dict[str, Rule] = {}
"""What has to be done for steps that need rows of several parts, by the name of the method."""


def lower(node: Node, needed: Columns, tests: Sequence[pl.Expr] = ()) -> Stage:
    """Return the stage by which a plan is carried out, with the needed columns at least.

    Rows of which not all `tests` are true need not be among those that come out of it.

    Notes
    -----
    What needs rows of several parts is called at once, up to the last such step; what is left is
    done by whoever calls the stage.
    """
    if isinstance(node, Leaf):
        return _leaf(node, needed, tests)
    assert isinstance(node, Op)
    keeps_tests = are_plain(node)
    if node.method in _RULES and not keeps_tests:
        return _RULES[node.method](node, needed)
    is_row_wise = row_wise(node)
    if node.method == "filter" and is_row_wise:
        tests = [*tests, *tests_of(node)]
    elif not keeps_tests:
        tests = ()
    stage = lower_input(node, needed, tests)
    if not (stage.is_one or is_row_wise):
        stage = stage.one()
    return stage.then(node.method, *node.args, **node.options)


def lower_input(step: Op, needed: Columns, tests: Sequence[pl.Expr] = ()) -> Stage:
    """Return the stage of a step's input, with the columns that the step needs."""
    wanted = needs(step, needed)
    return lower(step.input, wanted, tests).trimmed(wanted)


def rule(method: str) -> Callable[[Rule], Rule]:
    """Have a function lower the steps of a name."""

    def kept(function: Rule) -> Rule:
        _RULES[method] = function
        return function

    return kept


def _leaf(leaf: Leaf, needed: Columns, tests: Sequence[pl.Expr]) -> Stage:
    frame = leaf.frame
    if frame._node is not None:
        return lower(frame._node, needed, tests)
    if frame._scan is not None:
        return _scanned(leaf, frame._scan, needed, tests)
    return _of_blocks(leaf, frame, needed)


def _scanned(leaf: Leaf, scan: Scan, needed: Columns, tests: Sequence[pl.Expr]) -> Stage:
    """Have only those rows and columns of files read that are needed; all if all are."""
    where = as_where(tests, leaf.frame.schema)
    names = [name for name in leaf.schema if needed is None or name in needed]
    names = names or list(leaf.schema)[:1]
    if where is None and len(names) == len(leaf.schema):
        return _of_blocks(leaf, leaf.frame, needed)
    return _of_blocks(Leaf(leaf.empty[names], leaf.frame), scan.narrow(names, where), None)


def _of_blocks(leaf: Leaf, frame: Frame, needed: Columns) -> Stage:
    names = [name for name in leaf.schema if needed is None or name in needed]
    empty = leaf.empty[names or list(leaf.schema)[:1]]
    share = width_of(empty) / width_of(leaf.empty)
    parts = _grouped(frame, share)
    whole = len(names) == len(leaf.schema) and all(len(part) == 1 for part in parts)
    is_done = whole and frame._is_planned
    return Stage.of(
        parts,
        empty,
        frame.client,
        is_done=is_done,
        share=share,
        is_of_frame=not leaf.is_shared,
        is_named_by_content=frame._is_put,
    )


def width_of(frame: pl.DataFrame) -> int:
    """Return about how many bytes a row takes."""
    return sum(8 if dtype.is_numeric() else 16 for dtype in frame.dtypes) or 1


def _grouped(frame: Frame, share: float) -> list[list[object]]:
    """Put blocks that follow one another together, so that there are no more calls than needed."""
    pieces = frame._live("compute it")
    nbytes = frame._block_nbytes()
    count = min(LIMITS.parts(int(share * nbytes.sum()), frame.client), len(pieces))
    if count == len(pieces):
        return [[piece] for piece in pieces]
    ends = np.cumsum(nbytes)
    middles = ends - nbytes / 2
    which = np.minimum((middles * count / max(ends[-1], 1)).astype(int), count - 1)
    parts: list[list[object]] = [[] for _ in range(count)]
    for part, piece in zip(which.tolist(), pieces, strict=True):
        parts[part].append(piece)
    return [part for part in parts if part]


def slots_of(client: Client | None) -> int:
    """Return how many calls run at once where rows are."""
    return members_of(client)[0]


def members_of(client: Client | None) -> tuple[int, int]:
    """Return how many calls run at once where rows are, and how many workers there are.

    Notes
    -----
    Asked once for each plan: an answer is a round trip to the manager.
    """
    if client is None:
        return 1, 1
    if client not in _members:
        workers = client.workers()
        _members[client] = max(sum(worker["slots"] for worker in workers), 1), len(workers)
    return _members[client]


_members: WeakKeyDictionary[Client, tuple[int, int]] = WeakKeyDictionary()


def forget_members() -> None:
    """Ask again how many workers there are: a plan begins."""
    _members.clear()


def shuffled(stage: Stage, keys: list[pl.Expr], types: list[pl.DataType], parts: int) -> Stage:
    """Move rows so that those of equal keys are in one part; between workers, as blocks."""
    if parts == 1:
        return stage.one()
    hashed = tuple(pl.String() if _has_codes(dtype) else dtype for dtype in types)
    return cut(stage, ByHash(tuple(keys), hashed, parts))


def cut(stage: Stage, cutting: Cutting) -> Stage:
    """Cut the rows of each part into the same parts."""
    columns = zip(*stage.blocks(cutting), strict=True)
    return Stage.of([list(part) for part in columns], stage.plan.empty, stage.client)


def may_hash(dtype: pl.DataType) -> bool:
    """Tell whether equal values of a type have equal hashes in all processes."""
    return not (dtype.is_nested() or isinstance(dtype, pl.Object))


def _has_codes(dtype: pl.DataType) -> bool:
    """Tell whether equal values may have different codes in two processes."""
    return isinstance(dtype, pl.Categorical | pl.Enum)


def unwrapped(node: Node) -> Node:
    """Return the step by which a lazy frame is made, for the frame."""
    while isinstance(node, Leaf) and node.frame._node is not None:
        node = node.frame._node
    return node
