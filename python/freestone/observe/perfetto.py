"""A trace in Chrome's format, which Perfetto and chrome://tracing open.

Each worker is a process, with as many threads as it runs calls at once; transfers and caches are
counters. Times are in microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from freestone.observe import chrome

__all__ = ["events", "write"]

Record = Mapping[str, Any]


def write(path: str | os.PathLike[str], records: Iterable[Record]) -> int:
    """Write a trace; how many events it has."""
    return chrome.write(path, events(records), "ms", "run")


def events(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield the events of a trace."""
    lanes = _Lanes()
    for record in sorted(records, key=_begin):
        if record["kind"] in ("peak", "failure"):
            # What a function had is no worker's, and what failed is among the attempts.
            continue
        worker = str(record.get("worker") or record.get("target"))
        process = lanes.process(worker)
        if record["kind"] == "joined":
            about = {"name": f"{worker}, {record['slots']} slots"}
            yield {"ph": "M", "name": "process_name", "pid": process, "args": about}
        elif record["kind"] == "task":
            yield _task(record, process, lanes)
        elif record["kind"] == "transfer":
            yield _transfer(record, process)
        elif record["kind"] == "cache":
            about = {"memory": record["memory_nbytes"], "disk": record["disk_nbytes"]}
            at_us = record["at_ns"] / 1e3
            yield {"ph": "C", "name": "cache", "pid": process, "ts": at_us, "args": about}
        elif record["kind"] == "left":
            at_us = record["at_ns"] / 1e3
            yield {"ph": "i", "name": "left", "pid": process, "tid": 0, "ts": at_us, "s": "p"}


def _begin(record: Record) -> int:
    if record["kind"] == "task":
        return int(record["start_ns"])
    if record["kind"] == "transfer":
        return int(record["end_ns"] - record["duration_ns"])
    return int(record["at_ns"])


def _task(record: Record, process: int, lanes: _Lanes) -> dict[str, Any]:
    begin, took = record["start_ns"], record["duration_ns"]
    keys = ("name", "attempt", "nbytes", "ended")
    return {
        "ph": "X",
        "name": str(record["label"]),
        "cat": "task",
        "pid": process,
        "tid": lanes.thread(process, begin, begin + took),
        "ts": begin / 1e3,
        "dur": took / 1e3,
        "args": {key: record[key] for key in keys}
        | {"waited_us": max(0, begin - record["ready_ns"]) / 1e3}
        | {f"{key}_us": (record.get(f"{key}_ns") or 0) / 1e3 for key in ("opening", "storing")},
    }


def _transfer(record: Record, process: int) -> dict[str, Any]:
    begin = record["end_ns"] - record["duration_ns"]
    return {
        "ph": "X",
        "name": f"from {record['source']}",
        "cat": "transfer",
        "pid": process,
        "tid": 1000,
        "ts": begin / 1e3,
        "dur": record["duration_ns"] / 1e3,
        "args": {"name": record["name"], "nbytes": record["nbytes"]},
    }


class _Lanes:
    """Gives workers numbers, and calls that run at once different threads."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {}
        self._free_at: dict[int, list[int]] = {}

    def process(self, worker: str) -> int:
        return self._processes.setdefault(worker, len(self._processes) + 1)

    def thread(self, process: int, begin: int, end: int) -> int:
        lanes = self._free_at.setdefault(process, [])
        for number, free_at in enumerate(lanes):
            if free_at <= begin:
                lanes[number] = end
                return number + 1
        lanes.append(end)
        return len(lanes)
