"""A trace that is written while the run goes on, so that a crash leaves it.

Beside ``run.parquet`` there is ``run.parquet.partial`` until the end: batches of Arrow for Parquet,
lines of JSON for the other forms. Both can be read as far as they were written.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import deque
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.observe import columns, forms, trace
from freestone.replacing import replaceable, replaced

if TYPE_CHECKING:
    from freestone.observe.recorder import Recorder, Watch

__all__ = ["Journal"]

_INTERVAL_S = 1.0
_ROWS = 65_536


class Journal:
    """Writes what happens beside a trace each second, and the trace at the end.

    Parameters
    ----------
    path
        The trace's. If a former run has left its journal there, this one gets a number.
    recorder
        Has what happens.

    Raises
    ------
    OSError
        When nothing can be written there.
    """

    def __init__(self, path: str | os.PathLike[str], recorder: Recorder) -> None:
        self._path = Path(path)
        self._pa = forms.pyarrow_for(self._path) if self._path.suffix == ".parquet" else None
        # Beside the file that a link leads to, whose name it may get.
        self._target = replaceable(path)
        os.makedirs(os.path.dirname(self._target), exist_ok=True)
        # Without a buffer, which a forked child would write once more.
        self._file = _new_file(self._target)
        self._size = 0
        self._unwritten: deque[bytes] = deque()
        if self._pa is not None:
            self._unwritten.append(forms.schema(self._pa).serialize().to_pybytes())
        self._watch: Watch = recorder.watch(wants_beginning=True)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, name="freestone-trace", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            # A full disk may have room later; if not, the end says so.
            with contextlib.suppress(OSError):
                self._append()

    def _append(self) -> None:
        self._unwritten += (self._encoded(*part) for part in self._watch.take())
        while self._unwritten:
            data = memoryview(self._unwritten[0])
            try:
                while data:
                    data = data[self._file.write(data) :]
            except OSError:
                self._file.seek(self._size)
                self._file.truncate()
                raise
            self._size += len(self._unwritten.popleft())

    def _encoded(self, rows: int, found: columns.Columns) -> bytes:
        if self._pa is not None:
            encoded: bytes = forms.batch(self._pa, rows, found).serialize().to_pybytes()
            return encoded
        return "".join(json.dumps(one) + "\n" for one in columns.records(rows, found)).encode()

    def close(self) -> None:
        """Write what is left, make the trace of it, and remove the journal.

        Raises
        ------
        OSError
            When it can't be written; the journal stays.
        """
        if self._file.closed:
            # In a child that was forked, which has let go of it.
            return
        journal = self._stop()
        try:
            self._append()
        finally:
            self._watch.stop()
            self._file.close()
        if self._path.suffix == ".jsonl":
            journal.replace(replaceable(self._target))
            return
        if self._pa is None:
            trace.write(self._path, forms.lines(journal))
        else:
            with replaced(self._path) as whole:
                _write_parquet(self._pa, journal, whole)
        journal.unlink()

    def forget(self) -> None:
        """Let go of the file in a forked child, where no thread writes."""
        self._file.close()

    def discard(self) -> None:
        """Remove the journal of a run that did not begin."""
        journal = self._stop()
        self._watch.stop()
        self._file.close()
        journal.unlink(missing_ok=True)

    def _stop(self) -> Path:
        self._ended.set()
        self._thread.join()
        return Path(os.fsdecode(self._file.name))


def _new_file(path: str) -> FileIO:
    number = 1
    while True:
        middle = "" if number == 1 else f".{number}"
        try:
            return open(f"{path}{middle}{forms.PARTIAL}", "xb", buffering=0)
        except FileExistsError:
            number += 1


def _write_parquet(pa: Any, journal: Path, path: Path) -> None:
    """Write a journal as Parquet, in groups of many batches."""
    with forms.parquet_writer(pa, path) as writer:
        waiting: list[Any] = []
        for batch in forms.batches(pa, journal):
            waiting.append(batch)
            if sum(len(one) for one in waiting) >= _ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
