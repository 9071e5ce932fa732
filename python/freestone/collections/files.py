"""Blocks that are read from files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from freestone.cluster import current
from freestone.collections.making import Spec, map_block
from freestone.files import File, file

__all__ = ["read_files"]


def read_files(spec: Spec, files: Iterable[Any], read: Callable[[Any], Any]) -> list[Any]:
    """Read files into blocks, each where the call runs; paths are named first.

    Notes
    -----
    One call per file. A file of this machine is used where it lies by workers of this machine, and
    sent to others.
    """
    named = [one if isinstance(one, File) else file(one) for one in files]
    call = functools.partial(map_block, spec, read)
    nothing = [None] * len(named)
    cluster = current()
    if cluster is None:
        return [call(*which).value for which in zip(range(len(named)), nothing, named, strict=True)]
    return cluster.map(call, range(len(named)), nothing, named, name=spec.collection)
