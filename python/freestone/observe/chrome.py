"""Files in Chrome's format, which Perfetto and chrome://tracing open.

Ranks, resizes and runs of a cluster are written so. The live page shows what the program has
written, so that the files are named here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from freestone.errors import FormatError
from freestone.replacing import replaced

__all__ = ["MAX_NBYTES", "begin", "end", "is_chrome", "read", "write", "written"]

MAX_NBYTES = 1 << 28
"""A larger file is read by Perfetto alone."""
_REMEMBERED = 16

_written: dict[str, None] = {}
_begun: dict[str, str] = {}


def write(
    path: str | os.PathLike[str],
    events: Iterable[Mapping[str, Any]],
    unit: str,
    of: str = "ranks",
) -> int:
    """Write a file, and remember its name for the live page.

    Parameters
    ----------
    path
        Replaced once it is whole.
    events
        As the format has them; times in microseconds.
    unit
        In which times are shown: ``ms`` or ``ns``.
    of
        What did that: ``ranks``, which is all that `read` takes, or a ``run``.

    Returns
    -------
    int
        How many events.
    """
    found = list(events)
    with replaced(path) as partial:
        data = {"traceEvents": found, "displayTimeUnit": unit, "otherData": {"of": of}}
        partial.write_text(json.dumps(data), "utf-8")
    name = os.path.abspath(path)
    # The last ones, this one at the end.
    _written.pop(name, None)
    _written[name] = None
    if len(_written) > _REMEMBERED:
        del _written[next(iter(_written))]
    return len(found)


def written() -> list[str]:
    """Return the paths of the files that this program wrote last, the newest first.

    Before them stand the folders of runs of ranks that have not ended.
    """
    return [*_begun.values(), *list(_written)[::-1]]


def begin(path: str, folder: str) -> None:
    """Note that a run of ranks has begun, whose rings are in a folder until the file is written."""
    _begun[os.path.abspath(path)] = folder


def end(path: str) -> None:
    """Note that a run of ranks has ended."""
    _begun.pop(os.path.abspath(path), None)


def is_chrome(path: str | os.PathLike[str]) -> bool:
    """Whether a file may be one in this format, by its beginning: a trace of a run is a list."""
    path = Path(path)
    if path.suffix != ".json":
        return False
    with path.open("rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the events of a file.

    Raises
    ------
    FormatError
        If it is something else, or has more than 256 MiB.
    """
    nbytes = os.path.getsize(path)
    if nbytes > MAX_NBYTES:
        problem = f"it has {nbytes >> 20} MiB, and is drawn up to {MAX_NBYTES >> 20} MiB"
        raise FormatError(os.fspath(path), f"{problem}: open it with https://ui.perfetto.dev")
    try:
        found = json.loads(Path(path).read_bytes())
        events = found["traceEvents"] if isinstance(found, dict) else None
        of_run = isinstance(found, dict) and found.get("otherData") == {"of": "run"}
    except (ValueError, KeyError):
        events, of_run = None, False
    if of_run:
        problem = "it is a run as `freestone trace --perfetto` writes it"
        raise FormatError(os.fspath(path), f"{problem}: give the trace that it was made of")
    if not isinstance(events, list) or not all(isinstance(one, dict) for one in events):
        raise FormatError(os.fspath(path), "it is no trace of a run: it has no list 'traceEvents'")
    return events
