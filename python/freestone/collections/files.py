"""Blocks that are read from files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from freestone.client import current
from freestone.client.files import File, file
from freestone.collections.making import Spec, map_block

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
    client = current()
    calls = zip(range(len(named)), nothing, named, strict=True)
    if client is None:
        return [call(*which).value for which in calls]
    return client.map(call, calls, {"name": spec.collection})
