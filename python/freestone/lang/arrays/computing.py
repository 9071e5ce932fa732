"""Computes expressions: stage by stage, each one pass over the blocks, where they are.

A sum over all rows that needs another one (a variance needs the mean) is in a later stage. All
sums and extremes of a stage over the same rows are parts of one plan, which runs once on each
partition; what it returns is combined in a tree.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.client import Client
from freestone.client.reduction import reduce
from freestone.client.waiting import cancelling, result_of
from freestone.collections import Array
from freestone.collections.pieces import future_of, value_of
from freestone.collections.rows import concatenate, count_rows, is_sparse
from freestone.lang.arrays.calls import CallLowering
from freestone.lang.arrays.lowering import Lowering, is_single, lowered, sides
from freestone.lang.arrays.nodes import Node, ordered
from freestone.lang.arrays.plans import run_plan
from freestone.lang.arrays.small import NOT_SMALL, small_value
from freestone.lang.arrays.tiles import each, tiles_of
from freestone.lang.arrays.totals import COMBINE, IDENTITIES, REDUCERS
from freestone.lang.run.kernels.sparse import Csr
from freestone.partitions import split

HERE, THERE = 0, 1
"""How many cores a plan uses: all of them here; an executor is one."""

TOTALS = frozenset({"total", "product"})
LARGE = 1 << 16
"""A whole value of so many bytes is sent once, as a block."""

Known = dict[Node, Any]


def computed(node: Node) -> Any:
    """Return the value of a node, here."""
    if node.kind == "turned":
        return np.transpose(computed(node.args[0]))
    found = small_value(node, _finished)
    if found is not NOT_SMALL:
        return found
    known = _totals([node])
    if node.rows is None:
        return _small(node, known)
    return _gathered(node, known)


def as_array(node: Node) -> Array:
    """Return an array whose blocks are computed, and stay, where those are that they come from."""
    if node.rows is None or node.kind == "turned":
        raise TypeError("only what is computed row by row has blocks; call compute() instead")
    return _mapped(node, _totals([node]))


def stages(root: Node) -> list[list[list[Node]]]:
    """Return the sums and extremes that are computed together, in order of stages."""
    levels: dict[Node, int] = {}
    for node in ordered([root]):
        level = max((levels[arg] for arg in node.args), default=0)
        levels[node] = level + (node.kind in TOTALS)
    found: dict[int, dict[Any, list[Node]]] = {}
    for node in levels:
        if node.kind in TOTALS:
            rows = node.args[0].rows
            assert rows is not None
            together = found.setdefault(levels[node], {})
            together.setdefault(rows.offsets.tobytes(), []).append(node)
    return [list(found[level].values()) for level in sorted(found)]


def _totals(roots: Sequence[Node]) -> Known:
    known: Known = {}
    for root in roots:
        for stage in stages(root):
            for nodes in stage:
                known.update(zip(nodes, _combined(nodes, known), strict=True))
    return known


def _small(root: Node, known: Known) -> Any:
    """Compute what is whole, from totals that are known; graphs may be deeper than the stack."""
    stack = [root]
    while stack:
        # Below what is known nobody looks: each step of a loop would look at all steps before it.
        node = stack[-1]
        missing = [arg for arg in node.args if arg not in known] if node not in known else []
        if missing:
            stack += missing
            continue
        stack.pop()
        if node in known:
            continue
        if node.kind == "value":
            known[node] = node.attrs["data"]
        else:
            with np.errstate(all="ignore"):
                known[node] = node.attrs["function"](*[known[arg] for arg in node.args])
    return known[root]


def _wholes(lowering: Lowering | CallLowering, known: Known) -> list[Any]:
    return [_form(_small(node, known), node, form) for node, form in lowering.wholes]


def _form(value: Any, node: Node, form: str) -> Any:
    if form == "natural":
        return np.asarray(value, node.dtype)
    if is_single(node, form):
        return np.asarray(value, node.dtype).item()
    matrix = np.ascontiguousarray(value, node.dtype).reshape(sides(node.shape, form))
    return matrix.view(np.uint8) if node.dtype == bool else matrix


# -- sums and extremes ------------------------------------------------------------------------


def _combined(nodes: list[Node], known: Known) -> list[Any]:
    lowering = lowered(nodes)
    arrays = [node.attrs["data"] for node in lowering.sources]
    # The short name of a type does not have the fields of records.
    names = tuple((_way(n), n.dtype if n.dtype.fields else n.dtype.str) for n in nodes)
    call = functools.partial(parts_of, lowering.plan.encoded(), names)
    whole = _wholes(lowering, known)
    client = arrays[0].client
    if client is None:
        parts = _parts_here(call, lowering, whole, names)
    else:
        parts = _parts_there(client, arrays, call, whole, names)
    return [_finished(node, part) for node, part in zip(nodes, parts, strict=True)]


def _parts_here(call: Any, lowering: Lowering | CallLowering, whole: list[Any], names: Any) -> Any:
    tiles = tiles_of(lowering)
    parts = each(lambda tile, threads: call(threads, whole, [tile]), tiles, lowering)
    return functools.reduce(functools.partial(merged, names), parts)


def _parts_there(
    client: Client, arrays: Sequence[Array], call: Any, whole: list[Any], names: Any
) -> Any:
    partitions = split(*arrays)
    sent = _sent(client, whole)
    calls = [client.submit(call, (THERE, sent, part)) for part in partitions]
    calls.append(reduce(functools.partial(merged, names), calls, commutes=True))
    return result_of(calls)


def _sent(client: Client, whole: list[Any]) -> Any:
    """Make what is whole and large a block, which each worker gets once."""
    large = sum(getattr(value, "nbytes", 0) for value in whole) > LARGE
    return client.put(whole) if large else whole


def parts_of(
    encoded: bytes,
    names: Sequence[tuple[str, np.dtype[Any] | str]],
    threads: int,
    whole: Sequence[Any],
    blocks: Any,
) -> list[Any]:
    """Run a plan on blocks one after the other, and combine the parts; empty ones have none."""
    parts: list[Any] | None = None
    numbers = getattr(blocks, "indexes", None)
    for at, block in enumerate(blocks):
        together = block if isinstance(block, tuple) else (block,)
        if not count_rows(together[0]):
            continue
        number = None if numbers is None else int(numbers[at])
        outs = run_plan(encoded, threads, together, whole, number)
        renewed = [
            None if out is None else np.asarray(_dense(out), dtype)
            for out, (_, dtype) in zip(outs, names, strict=True)
        ]
        parts = renewed if parts is None else merged(names, parts, renewed)
    return parts or [None] * len(names)


def merged(
    names: Sequence[tuple[str, np.dtype[Any] | str]], one: list[Any], other: list[Any]
) -> list[Any]:
    """Combine the parts of two groups of rows; None is no part."""
    return [
        second if first is None else first if second is None else REDUCERS[name](first, second)
        for (name, _), first, second in zip(names, one, other, strict=True)
    ]


def _way(node: Node) -> str:
    name = str(node.attrs["name"])
    return COMBINE.get(name, name)


def _finished(node: Node, part: Any) -> Any:
    shape = [side or 0 for side in node.shape]
    if part is None:
        identity = IDENTITIES.get(node.attrs["name"])
        if identity is None:
            raise ValueError(f"there is no {node.attrs['name']} of no cells")
        return np.full(shape, identity, node.dtype)[()]
    return np.asarray(part).astype(node.dtype).reshape(shape)[()]


# -- what is computed row by row --------------------------------------------------------------


def _mapped(node: Node, known: Known) -> Array:
    if node.kind == "source":
        return node.attrs["data"]  # type: ignore[no-any-return]
    lowering = lowered([node])
    arrays = [one.attrs["data"] for one in lowering.sources]
    client = arrays[0].client
    whole = _wholes(lowering, known)
    call = functools.partial(
        rows_of,
        lowering.plan.encoded(),
        HERE if client is None else THERE,
        node.ndim,
        node.dtype.str,
        len(arrays),
    )
    sent = whole if client is None else _sent(client, whole)
    blocks = [*arrays[1:], sent]
    if node.rows is not None and node.rows.count is None:
        return _chosen(arrays[0], call, blocks, client)
    shape = tuple(side or 0 for side in node.shape)
    made: Array = arrays[0].map_blocks(
        call, *blocks, shape=shape, dtype=node.dtype, name="expression"
    )
    return made


def _chosen(first: Array, call: Any, more: list[Any], client: Client | None) -> Array:
    """Map to blocks of which nobody knows yet how many rows they have."""
    columns = [
        each.blocks if isinstance(each, Array) else [each] * len(first.blocks) for each in more
    ]
    if client is None:
        values = [[value_of(piece) for piece in column] for column in (first.blocks, *columns)]
        pieces: list[Any] = [call(*row) for row in zip(*values, strict=True)]
        return Array._from_own(pieces, name="expression")
    futures = client.map(call, zip(first.blocks, *columns, strict=True), {"near": "input"})
    return Array.from_futures(futures, name="expression")


def _gathered(node: Node, known: Known) -> Any:
    lowering = lowered([node]) if node.kind != "source" else None
    if lowering is None:
        return _mapped(node, known).compute()
    if lowering.sources[0].attrs["data"].client is not None:
        array = _mapped(node, known)
        with cancelling(map(future_of, array.blocks)):
            return array.compute()
    encoded, whole = lowering.plan.encoded(), _wholes(lowering, known)

    def rows(tile: tuple[Any, ...], threads: int) -> Any:
        return rows_of(encoded, threads, node.ndim, node.dtype.str, len(tile), *tile, whole)

    made = each(rows, tiles_of(lowering), lowering)
    return concatenate(made)


def rows_of(encoded: bytes, threads: int, ndim: int, dtype: str, count: int, *given: Any) -> Any:
    """Run a plan on blocks that go together, and return the rows that it makes of them."""
    *blocks, whole = given
    (out,) = run_plan(encoded, threads, blocks[:count], whole)
    if isinstance(out, Csr) and ndim == 2:
        return _compressed(out, np.dtype(dtype), blocks)
    cells = _typed(_dense(out), np.dtype(dtype))
    return cells.reshape(-1) if ndim == 1 else cells


def _dense(out: Any) -> Any:
    return out.toarray() if isinstance(out, Csr) else out


def _compressed(out: Csr, dtype: np.dtype[Any], blocks: Sequence[Any]) -> Any:
    """Return CSR in the class of SciPy's that the block has of which they are made."""
    import scipy.sparse

    made = out.with_cells(_typed(out.cells, dtype)).to_scipy()
    first = next(block for block in blocks if is_sparse(block))
    return made if isinstance(first, scipy.sparse.sparray) else scipy.sparse.csr_matrix(made)


def _typed(cells: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the engine's bytes that stand for truth values as such."""
    found = np.asarray(cells)
    if dtype.kind == "b":
        return found.view(np.bool_) if found.dtype == np.uint8 else found.astype(bool)
    return found
