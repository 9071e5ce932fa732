"""A run's trace: written to a file, read back, and summed up.

A record is a dict whose ``kind`` is ``task``, ``transfer``, ``joined``, ``left``, ``cache``,
``peak``, ``failure`` or ``profile``; the other fields are those of the manager's records, times in
nanoseconds of the monotonic clock. A task's ``inputs`` are the names of the blocks that it waited
for, with spaces between them (of more than 990 the last), and ``outputs`` those of what it made
besides ``name``. One of ``peak`` has how many ``nbytes`` of a function's outputs workers held at
once, more than ever before. One of ``failure`` has a task that failed for good, with its
``message`` and ``traceback``; of those of one second, the last 64. One of ``profile`` has a
stack of a function's calls, as JSON, and what was sampled of it.
``.parquet`` needs pyarrow; ``.jsonl`` has one record a line, ``.json`` one list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freestone.errors import ConfigurationError, FormatError, FreestoneError
from freestone.observe.forms import (
    FIELDS,
    PARTIAL,
    parquet_writer,
    pyarrow_for,
    read_partial,
    records_of,
)
from freestone.replacing import replaceable, replaced
from freestone.units import format_count, format_nbytes, format_seconds

__all__ = [
    "FIELDS",
    "LabelFigures",
    "TraceSummary",
    "check",
    "expecting_trace",
    "read",
    "summary",
    "write",
]

Record = Mapping[str, Any]

_BATCH = 65_536


def write(path: str | os.PathLike[str], records: Iterable[Record]) -> int:
    """Write a trace.

    Parameters
    ----------
    path : path
        The form follows from its ending: ``.parquet``, ``.jsonl`` or ``.json``. What was there
        before stays until the trace is whole.
    records : iterable of mapping
        Consumed as it is written, 65,536 records at once.

    Returns
    -------
    int
        How many records.

    Raises
    ------
    ConfigurationError
        If the ending is another, or pyarrow is not installed.
    IsADirectoryError, FileError
        If something else than a file has that name.
    """
    path = Path(path)
    writer = _writer(path)
    with replaced(path) as partial:
        count: int = writer(partial, records)
    return count


def check(path: str | os.PathLike[str] | None) -> bool:
    """Whether there is to be a trace; imports what writing it needs.

    Raises
    ------
    ConfigurationError
        If no trace can be written under the name; see `write`.
    IsADirectoryError, FileError
        If something else than a file has that name.
    """
    if path is not None:
        _writer(Path(path))
        replaceable(path)
    return path is not None


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a trace as it was written, or the ``.partial`` one of a run that crashed.

    Raises
    ------
    FormatError
        If the file is something else.
    """
    path = Path(path)
    with expecting_trace(path):
        records = _read(path)
        for number, record in enumerate(records, 1):
            kind = record.get("kind") if isinstance(record, dict) else None
            if not isinstance(kind, str):
                raise ValueError(f"record {number} has no kind")
    return records


def _read(path: Path) -> list[Any]:
    if path.suffix == PARTIAL:
        return read_partial(path)
    _writer(path)
    if path.suffix == ".parquet":
        return records_of(pyarrow_for(path).parquet.read_table(path))
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    if not isinstance(found, list):
        raise ValueError(f"it is a {type(found).__name__}, and no list of records")
    return found


@contextmanager
def expecting_trace(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise `FormatError` if what is done shows that a file is no trace, or a damaged one."""
    try:
        yield
    except FreestoneError:
        raise
    except (KeyError, TypeError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = f"a record lacks {error}" if isinstance(error, KeyError) else str(error)
        raise FormatError(os.fspath(path), f"it is no trace of a run: {why}") from error


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """All attempts at tasks of one label.

    Attributes
    ----------
    attempts, failed : int
        How many there were, and how many of them did not end well.
    busy_s, longest_s : float
        Seconds that they ran, summed, and the longest of them.
    nbytes : int
        Bytes of their outputs.
    """

    attempts: int
    failed: int
    busy_s: float
    longest_s: float
    nbytes: int


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What a trace says in a few lines; print it to read it.

    Attributes
    ----------
    seconds : float
        From the first thing that happened to the last.
    labels : mapping of str to LabelFigures
        The busiest first.
    transfers, transferred_nbytes : int
        Blocks sent between workers, and their bytes.
    joined, left : int
        Workers that came and went.
    slots : int
        Calls that could run at once, of all workers that ever joined.
    """

    seconds: float
    labels: Mapping[str, LabelFigures]
    transfers: int
    transferred_nbytes: int
    joined: int
    left: int
    slots: int

    @property
    def busy_s(self) -> float:
        """Seconds that calls ran, summed."""
        return sum(figures.busy_s for figures in self.labels.values())

    def __str__(self) -> str:
        """Give one line for the run, one per label."""
        capacity = self.seconds * self.slots
        share = f", {self.busy_s / capacity:.0%} of the executors' time" if capacity else ""
        attempts = sum(figures.attempts for figures in self.labels.values())
        lines = [
            f"{format_count(attempts, 'attempt')} in {format_seconds(self.seconds)} on "
            f"{format_count(self.joined, 'worker')}{share}; "
            f"{format_count(self.transfers, 'transfer')} of "
            f"{format_nbytes(self.transferred_nbytes)}"
        ]
        lines += [f"  {label}: {_tell(figures)}" for label, figures in self.labels.items()]
        return "\n".join(lines)


def summary(records: Iterable[Record]) -> TraceSummary:
    """Sum up a trace."""
    first, last = None, 0
    labels: dict[str, list[Record]] = {}
    counts = dict.fromkeys(("transfer", "joined", "left", "moved", "slots"), 0)
    for record in records:
        # It says when it was written.
        if record["kind"] == "profile":
            continue
        begin, end = _span(record)
        first = begin if first is None else min(first, begin)
        last = max(last, end)
        kind = record["kind"]
        if kind == "task":
            labels.setdefault(record["label"], []).append(record)
        elif kind in counts:
            counts[kind] += 1
            counts["moved"] += record.get("nbytes", 0)
            counts["slots"] += record.get("slots", 0)
    figures = {label: _sum_up(tasks) for label, tasks in labels.items()}
    return TraceSummary(
        seconds=(last - (first or 0)) / 1e9,
        labels=dict(sorted(figures.items(), key=lambda item: -item[1].busy_s)),
        transfers=counts["transfer"],
        transferred_nbytes=counts["moved"],
        joined=counts["joined"],
        left=counts["left"],
        slots=counts["slots"],
    )


def _sum_up(tasks: list[Record]) -> LabelFigures:
    return LabelFigures(
        attempts=len(tasks),
        failed=sum(task["ended"] != "done" for task in tasks),
        busy_s=sum(task["duration_ns"] for task in tasks) / 1e9,
        longest_s=max(task["duration_ns"] for task in tasks) / 1e9,
        nbytes=sum(task["nbytes"] for task in tasks),
    )


def _tell(figures: LabelFigures) -> str:
    mean = format_seconds(figures.busy_s / figures.attempts)
    failed = f", {figures.failed:,} failed" if figures.failed else ""
    return (
        f"{format_count(figures.attempts, 'attempt')}{failed}, {format_seconds(figures.busy_s)} in "
        f"all, {mean} each, {format_seconds(figures.longest_s)} the longest, "
        f"{format_nbytes(figures.nbytes)}"
    )


def _span(record: Record) -> tuple[int, int]:
    if record["kind"] == "task":
        begin = record.get("sent_ns") or record["start_ns"]
        return begin, max(begin, record["start_ns"] + record["duration_ns"])
    if record["kind"] == "transfer":
        return record["end_ns"] - record["duration_ns"], record["end_ns"]
    return record["at_ns"], record["at_ns"]


def _writer(path: Path) -> Any:
    writers = {".parquet": _write_parquet, ".jsonl": _write_lines, ".json": _write_list}
    if path.suffix not in writers:
        problem = f"the trace {str(path)!r} must end in {', '.join(writers)}"
        raise ConfigurationError(problem, key="trace", origin="the trace's path")
    if path.suffix == ".parquet":
        pyarrow_for(path)
    return writers[path.suffix]


def _write_lines(path: Path, records: Iterable[Record]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(dict(record)) + "\n")
            count += 1
    return count


def _write_list(path: Path, records: Iterable[Record]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, record in enumerate(records, 1):
            file.write(("[\n" if count == 1 else ",\n") + json.dumps(dict(record)))
        file.write("\n]\n" if count else "[]\n")
    return count


def _write_parquet(path: Path, records: Iterable[Record]) -> int:
    pa = pyarrow_for(path)
    count = 0
    with parquet_writer(pa, path) as writer:
        for batch in _batches(records):
            # Column by column, which takes a fraction of what row by row does.
            columns = {key: [record.get(key) for record in batch] for key in FIELDS}
            writer.write_table(pa.Table.from_pydict(columns, schema=writer.schema))
            count += len(batch)
    return count


def _batches(records: Iterable[Record]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for record in records:
        unknown = record.keys() - FIELDS.keys()
        if unknown:
            raise ValueError(f"a trace has no field {min(unknown)!r}: {dict(record)}")
        batch.append(dict(record))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
