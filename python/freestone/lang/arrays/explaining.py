"""Shows what an array expression runs on each block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from freestone.lang.arrays.computing import stages
from freestone.lang.arrays.lowering import lowered
from freestone.lang.arrays.nodes import Node


def explained(node: Node) -> str:
    """Return the plan of each stage, a line for each operation."""
    return "\n".join(_lines(node))


def _lines(node: Node) -> Iterator[str]:
    number = 0
    for number, stage in enumerate(stages(node), 1):
        for nodes in stage:
            ways = ", ".join(str(one.attrs["name"]) for one in nodes)
            yield from _plan(f"stage {number}, combined by {ways}", nodes)
    if node.rows is not None and node.kind != "source":
        yield from _plan(f"stage {number + 1}, row by row", [node])


def _plan(title: str, nodes: Sequence[Node]) -> Iterator[str]:
    lowering = lowered(nodes)
    arrays = [one.attrs["data"] for one in lowering.sources]
    names = ", ".join(dict.fromkeys(array.name for array in arrays))
    yield f"-- {title}, over {len(arrays[0].blocks):,} blocks of {names}"
    yield from lowering.plan.lines()
