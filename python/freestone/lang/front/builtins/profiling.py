"""Regions of a script that are measured."""

from __future__ import annotations

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import NOTHING


@builtin("startProfiling")
def start_profiling(emitter: Emitter) -> Value:
    """Begin a region; regions may be inside one another."""
    return emitter.emit("start_profiling", [], NOTHING)


@builtin("stopProfiling", "region")
def stop_profiling(emitter: Emitter, region: Value) -> Value:
    """End the region that began last, and tell what it took on standard error."""
    emitter.text(region, "region")
    return emitter.emit("stop_profiling", [region], NOTHING)
