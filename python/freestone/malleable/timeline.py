"""What is reported of resizes: to the log, to the program, and as a timeline for Perfetto."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from freestone.malleable.config import Config
from freestone.malleable.record import Resized
from freestone.observe import chrome

__all__ = ["report", "try_write"]

_log = logging.getLogger("freestone.malleable")


def report(resizes: Sequence[Resized], config: Config) -> None:
    """Report the last of a job's resizes as its settings ask for it."""
    last = resizes[-1]
    if last.error:
        _log.warning("the job goes on as it was: %s", last.error)
    if config.on_resize is not None:
        config.on_resize(last)
    if config.trace is not None:
        try_write(config.trace, resizes)


def try_write(path: str | os.PathLike[str], resizes: Iterable[Resized]) -> None:
    """Write resizes as a file for Perfetto and chrome://tracing; the job goes on without it, too.

    Parameters
    ----------
    path
        Replaced once it is whole.
    resizes
        Those of a job so far, done or failed.
    """
    try:
        chrome.write(path, (event for resize in resizes for event in _events(resize)), "ms")
    except OSError as error:
        _log.warning("the timeline of resizes could not be written to %s: %s", path, error)


def _events(resize: Resized) -> Iterator[dict[str, Any]]:
    begin_s, end_s = resize.began_s, resize.began_s + resize.total_s
    title = f"{resize.before} to {resize.after} processes"
    yield _slice(f"{title}, failed" if resize.error else title, begin_s, end_s, resize.as_dict())
    switch_s = end_s - resize.switch_s
    parts = {
        "spawned": (begin_s, begin_s + resize.spawn_s),
        "moved": (end_s - resize.data_s, switch_s),
        "switched": (switch_s, end_s),
    }
    for name, (from_s, to_s) in parts.items():
        if to_s > from_s:
            yield _slice(name, from_s, to_s, {})
    counts = [(begin_s, resize.before), (end_s, resize.before if resize.error else resize.after)]
    for at_s, processes in counts:
        args = {"processes": processes}
        yield {"ph": "C", "name": "processes", "pid": 0, "ts": at_s * 1e6, "args": args}


def _slice(name: str, from_s: float, to_s: float, args: dict[str, Any]) -> dict[str, Any]:
    at = {"pid": 0, "tid": 0, "ts": from_s * 1e6, "dur": (to_s - from_s) * 1e6}
    return {"ph": "X", "name": name, "cat": "resize", **at, "args": args}
