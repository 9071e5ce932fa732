"""Properties of matrices that one run finds and the compiler of the next one knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from freestone.errors.lang import ScriptCompileError, ScriptRunError
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.parse.source import failure


def key_of(op: Op, number: int) -> str:
    """Return what stands for a result of an operation, in every run of the same script."""
    place = "" if op.place is None else f"{op.place.line}:{op.place.column} "
    return f"{place}{op.name} {number}"


def share_of(value: Any) -> float | None:
    """Return the share of a matrix's cells that are not 0; None for anything else."""
    if hasattr(value, "indptr"):
        rows, columns = value.shape
        return float(len(value.cells) / max(rows * columns, 1))
    if getattr(value, "ndim", 0) != 2 or value.dtype == object or not value.size:
        return None
    import numpy as np

    return float(np.count_nonzero(value) / value.size)


def save(properties: dict[str, float], path: str) -> None:
    """Write what a run found.

    Raises
    ------
    ScriptRunError
        If it can't be written.
    """
    data = {name: {"sparsity": share} for name, share in sorted(properties.items())}
    try:
        Path(path).write_text(json.dumps(data, indent=2) + "\n")
    except OSError as error:
        problem = f"--enable-property-recording={path} can't be written: {error.strerror}"
        raise failure(ScriptRunError, problem) from None


def load(path: str) -> dict[str, float]:
    """Read what another run found.

    Raises
    ------
    ScriptCompileError
        If the file is not there, or holds something else.
    """
    try:
        data = json.loads(Path(path).read_text())
        return {name: float(found["sparsity"]) for name, found in data.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"--enable-property-insert={path} can't be read: {error}"
        raise failure(ScriptCompileError, problem) from None
