"""The memory of a run: what functions made, and how much the processes of executors had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from freestone.observe.report.document import note, table
from freestone.units import format_nbytes

__all__ = ["ExecutorMemory", "FunctionMemory", "Memory", "load", "memory_page"]

_MAX_ROWS = 100


@dataclass(slots=True)
class FunctionMemory:
    """What the calls of a function made, and took.

    Attributes
    ----------
    label : str
        The function.
    made : int
        How many calls ended well.
    nbytes, largest_nbytes : int
        Bytes of their outputs, and of the largest call's.
    held_nbytes : int
        The most bytes of its outputs that workers held at once, each block counted once.
    peak_nbytes : int
        The most that an executor's process has had in memory after a call that raised it; 0 if
        none of 2 ms or more did.
    """

    label: str
    made: int = 0
    nbytes: int = 0
    largest_nbytes: int = 0
    held_nbytes: int = 0
    peak_nbytes: int = 0


@dataclass(slots=True)
class ExecutorMemory:
    """The process of an executor.

    Attributes
    ----------
    worker : str
        Whose it is.
    pid : int
        Its process id.
    peak_nbytes : int
        The most that it has had in memory, with blocks that it maps.
    label : str
        The function whose call raised it to that.
    """

    worker: str
    pid: int
    peak_nbytes: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a run, what took most first.

    Attributes
    ----------
    functions : list of FunctionMemory
        By function.
    executors : list of ExecutorMemory
        By process.
    """

    functions: list[FunctionMemory]
    executors: list[ExecutorMemory]


def load(tasks: Iterable[Mapping[str, Any]], peaks: Iterable[Mapping[str, Any]] = ()) -> Memory:
    """Sum the records of attempts and of peaks up.

    Parameters
    ----------
    tasks
        Those whose kind is ``task``; in old traces they lack what executors measured.
    peaks
        Those whose kind is ``peak``.
    """
    functions: dict[str, FunctionMemory] = {}
    executors: dict[tuple[str, int], ExecutorMemory] = {}
    for task in sorted(tasks, key=lambda task: int(task["start_ns"])):
        label = str(task["label"])
        function = functions.setdefault(label, FunctionMemory(label))
        if task["ended"] == "done":
            function.made += 1
            function.nbytes += task["nbytes"]
            function.largest_nbytes = max(function.largest_nbytes, task["nbytes"])
        resident = task.get("resident_nbytes") or 0
        key = (str(task["worker"]), task.get("executor") or 0)
        if not resident:
            continue
        executor = executors.setdefault(key, ExecutorMemory(*key))
        if resident > executor.peak_nbytes:
            executor.peak_nbytes, executor.label = resident, label
            function.peak_nbytes = max(function.peak_nbytes, resident)
    for peak in peaks:
        label = str(peak["label"])
        function = functions.setdefault(label, FunctionMemory(label))
        function.held_nbytes = max(function.held_nbytes, peak["nbytes"])
    return Memory(
        sorted(
            functions.values(), key=lambda one: (-one.held_nbytes, -one.nbytes, -one.peak_nbytes)
        ),
        sorted(executors.values(), key=lambda one: -one.peak_nbytes),
    )


def memory_page(memory: Memory) -> str:
    """Return tables of it as HTML."""
    functions = [
        (
            one.label,
            f"{one.made:,}",
            format_nbytes(one.nbytes),
            format_nbytes(one.largest_nbytes),
            format_nbytes(one.held_nbytes) if one.held_nbytes else "-",
            format_nbytes(one.peak_nbytes) if one.peak_nbytes else "-",
        )
        for one in memory.functions[:_MAX_ROWS]
    ]
    executors = [
        (f"{one.worker}, process {one.pid}", format_nbytes(one.peak_nbytes), one.label)
        for one in memory.executors[:_MAX_ROWS]
    ]
    head = ("function", "calls", "made", "largest", "held at most", "raised an executor to")
    explained = note(
        "Held at most are the bytes of a function's blocks that workers had at once, each block "
        "counted once, without small values, which the manager has. An executor measures its "
        "process after each call of 2 ms or more: all that it has had in memory at once, with "
        "blocks that it maps. It counts for the function whose call raised it."
    )
    if not executors:
        return table(head, functions) + explained
    return table(head, functions) + table(("executor", "at most", "in"), executors) + explained
