"""Shares of non-zeros that another run recorded."""

from __future__ import annotations

from dataclasses import replace

from freestone.lang.front.graph.graph import Program
from freestone.lang.front.properties import key_of, load
from freestone.lang.settings import Settings


def insert(program: Program, settings: Settings) -> None:
    """Put them into the types of results of which nothing was known."""
    if not settings.insert:
        return
    known = load(settings.insert)
    for block in program.blocks():
        for op in block.ops:
            for number, result in enumerate(op.results):
                share = known.get(key_of(op, number))
                if share is not None and result.type.data == "matrix":
                    result.type = replace(result.type, sparsity=share)
