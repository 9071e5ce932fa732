"""Passes: each changes a program a little, and leaves what it means."""

from __future__ import annotations

from collections.abc import Callable

from freestone.lang.compile import (
    algebra,
    buffers,
    fusion,
    inlining,
    means,
    memory,
    motion,
    placing,
    properties,
    reuse,
    sparsity,
    strips,
    unused,
)
from freestone.lang.front.graph.graph import Program
from freestone.lang.settings import Settings

Pass = Callable[[Program, Settings], None]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("inlining", inlining.inline),
    ("algebra", algebra.rewrite),
    ("means", means.spread),
    ("reuse", reuse.share),
    ("motion", motion.hoist),
    ("properties", properties.insert),
    ("sparsity", sparsity.choose),
    ("unused", unused.drop),
    ("fusion", fusion.fuse),
    ("strips", strips.cut),
    ("placement", placing.place),
    ("buffers", buffers.take_over),
    ("memory", memory.check),
)
"""All passes in order, with the stages that ``--explain`` names."""
