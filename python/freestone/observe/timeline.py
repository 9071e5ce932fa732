"""What ran when: attempts and transfers of a run, thinned out to what a screen can show."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.observe import columns as arrow
from freestone.observe.columns import Column, Columns

__all__ = ["Timeline", "span_of"]

# Half of them go when there are so many; a run of 10 ms calls on 8 executors takes ten minutes.
MAX_ATTEMPTS = 500_000
# So many rectangles a browser draws in a few milliseconds.
MAX_DRAWN = 4000
_RECENT_TRANSFERS = 200

_DTYPES = {
    "start_s": "f8",
    "end_s": "f8",
    "wait_s": "f4",
    "lane": "i4",
    "label": "i4",
    "ended": "i2",
    "name": "S32",
}

Attempts = dict[str, npt.NDArray[Any]]
"""A column for each of `_DTYPES`."""
Record = Mapping[str, Any]
_TEXTS = ("label", "ended", "name", "worker")
_TIMES = ("start_ns", "duration_ns", "ready_ns")
_OF_TRANSFER = ("nbytes", "end_ns", "duration_ns")


class Timeline:
    """Attempts at tasks, in lanes: those of one lane did not run at once.

    Parameters
    ----------
    origin_ns : int
        From when times are counted, on the clock of the records.
    limit : int
        Half of the attempts go when there are more: those that ended first.
    """

    def __init__(self, origin_ns: int, limit: int = MAX_ATTEMPTS) -> None:
        self._origin_ns, self._limit = origin_ns, limit
        self._columns: Attempts = {key: np.empty(1024, kind) for key, kind in _DTYPES.items()}
        self._count = 0
        self._labels = _Numbers()
        self._endings = _Numbers(("done",))
        self._lanes: dict[str, list[tuple[float, int]]] = {}
        self._lane_workers: list[str] = []
        self._pairs: dict[tuple[str, str], list[int]] = {}
        self._transfers: deque[dict[str, Any]] = deque(maxlen=_RECENT_TRANSFERS)

    @classmethod
    def of_records(
        cls, origin_ns: int, tasks: Sequence[Record], transfers: Sequence[Record] = ()
    ) -> Timeline:
        """Make it of records of a trace, tasks by their starts: all of them are kept."""
        timeline = cls(origin_ns, limit=len(tasks))
        if tasks:
            texts = {key: [str(task.get(key) or "") for task in tasks] for key in _TEXTS}
            times = {key: [int(task.get(key) or 0) for task in tasks] for key in _TIMES}
            timeline._add_tasks(texts, {key: np.array(times[key], np.int64) for key in _TIMES})
        for one in transfers:
            timeline._add_transfer(one)
        return timeline

    @property
    def attempts(self) -> Attempts:
        """The attempts, in the order in which they were added."""
        return {key: column[: self._count] for key, column in self._columns.items()}

    @property
    def labels(self) -> list[str]:
        """The functions, by their number."""
        return self._labels.texts

    @property
    def endings(self) -> list[str]:
        """How attempts ended, by its number; the first is ``done``."""
        return self._endings.texts

    @property
    def lanes(self) -> list[str]:
        """Of each lane the worker."""
        return self._lane_workers

    def add(self, rows: int, columns: Columns) -> None:
        """Add records as `Manager.take_columns` gives them."""
        if not rows:
            return
        kinds = np.array(arrow.texts(rows, columns["kind"]))
        tasks = np.flatnonzero(kinds == "task")
        if len(tasks):
            texts = {key: arrow.texts(rows, columns[key]) for key in _TEXTS}
            times = {key: arrow.numbers(rows, columns[key])[tasks] for key in _TIMES}
            self._add_tasks({key: [texts[key][row] for row in tasks] for key in _TEXTS}, times)
        for row in np.flatnonzero(kinds == "transfer").tolist():
            self._add_transfer(
                {key: _text(columns[key], row) for key in ("source", "target", "name")}
                | {key: int(arrow.numbers(rows, columns[key])[row]) for key in _OF_TRANSFER}
            )

    def _add_tasks(
        self, texts: Mapping[str, Sequence[str]], times: Mapping[str, npt.NDArray[np.int64]]
    ) -> None:
        new: Attempts = {}
        new["start_s"] = (times["start_ns"] - self._origin_ns) / 1e9
        new["end_s"] = new["start_s"] + times["duration_ns"] / 1e9
        new["wait_s"] = np.maximum(0, times["start_ns"] - times["ready_ns"]) / 1e9
        new["label"] = np.array([self._labels.of(label) for label in texts["label"]])
        new["ended"] = np.array([self._endings.of(ended) for ended in texts["ended"]])
        new["name"] = np.array(texts["name"], "S32")
        spans = zip(texts["worker"], new["start_s"].tolist(), new["end_s"].tolist(), strict=True)
        new["lane"] = np.array([self._lane(*span) for span in spans])
        self._append(new, len(new["lane"]))

    def _append(self, new: Attempts, count: int) -> None:
        first = self._count // 2 if self._count + count > self._limit else 0
        kept = self._count - first
        room = len(self._columns["lane"])
        room = room if kept + count <= room else max(kept + count, 2 * room)
        for key, column in self._columns.items():
            there = column[first : self._count]
            if first or room > len(column):
                column = self._columns[key] = np.empty(room, column.dtype)
                column[:kept] = there
            column[kept : kept + count] = new[key]
        self._count = kept + count

    def _lane(self, worker: str, start_s: float, end_s: float) -> int:
        """Give an attempt the lane of its worker that came free last before it began."""
        lanes = self._lanes.setdefault(worker, [])
        latest_s, last_s, found = start_s + 1e-6, -np.inf, -1
        for place, (free_s, _) in enumerate(lanes):
            if last_s < free_s <= latest_s:
                last_s, found = free_s, place
        if found >= 0:
            lane = lanes[found][1]
            lanes[found] = (end_s, lane)
            return lane
        self._lane_workers.append(worker)
        lanes.append((end_s, len(self._lane_workers) - 1))
        return lanes[-1][1]

    def _add_transfer(self, record: Record) -> None:
        sums = self._pairs.setdefault((record["source"], record["target"]), [0, 0, 0])
        for place, amount in enumerate((1, record["nbytes"], record["duration_ns"])):
            sums[place] += amount
        shown = {key: record[key] for key in ("source", "target", "name", "nbytes")}
        end_s = (record["end_ns"] - self._origin_ns) / 1e9
        self._transfers.appendleft(shown | {"end_s": end_s, "took_s": record["duration_ns"] / 1e9})

    def transfers(self, limit: int) -> dict[str, Any]:
        """Return the sums of each pair of workers, and the last transfers."""
        keys = ("source", "target", "count", "nbytes", "took_s")
        pairs = [
            dict(zip(keys, (*pair, count, nbytes, took_ns / 1e9), strict=True))
            for pair, (count, nbytes, took_ns) in sorted(self._pairs.items())
        ]
        return {"pairs": pairs, "transfers": list(self._transfers)[:limit]}

    def span(self) -> tuple[float, float]:
        """Return from when to when there are attempts, in seconds, with a margin."""
        if not self._count:
            return 0.0, 1.0
        first_s = float(self._columns["start_s"][: self._count].min())
        last_s = float(self._columns["end_s"][: self._count].max())
        return first_s, last_s + max(1e-3, 0.01 * (last_s - first_s))

    def tasks(self, first_s: float, last_s: float, width: int) -> dict[str, Any]:
        """Return what ran in a span of time, for a drawing of so many pixels.

        Parameters
        ----------
        first_s, last_s : float
            The span, in seconds.
        width : int
            Pixels.

        Returns
        -------
        dict
            ``tasks`` has a column for each figure of those that are drawn one by one: all if they
            are few, or those that are wider than a pixel. The others are summed up by lane and
            pixel: ``cells`` has a column of each, which percentage of it was busy, and the label
            of most in it.
        """
        columns = self.attempts
        there = np.flatnonzero((columns["end_s"] >= first_s) & (columns["start_s"] <= last_s))
        pixel_s = (last_s - first_s) / width
        drawn, thin = there, there[:0]
        if len(there) > MAX_DRAWN:
            took_s = columns["end_s"][there] - columns["start_s"][there]
            longest = np.argpartition(-took_s, MAX_DRAWN)[:MAX_DRAWN]
            is_drawn = np.zeros(len(there), bool)
            is_drawn[longest] = took_s[longest] >= pixel_s
            drawn, thin = there[is_drawn], there[~is_drawn]
        shown = {key: column[drawn] for key, column in columns.items()}
        cells = _cells({key: columns[key][thin] for key in _OF_CELLS}, first_s, pixel_s, width)
        labels = np.unique(np.concatenate([shown["label"], cells["label"]])).tolist()
        return {
            "from_s": first_s,
            "to_s": last_s,
            "width": width,
            "count": len(there),
            "lanes": self._lane_workers,
            # Of a run that names each of its tasks, only the names that are drawn.
            "labels": {label: self._labels.texts[label] for label in labels},
            "endings": self._endings.texts,
            # Whole numbers: they are written in a third of the time that fractions take.
            "tasks": {
                "lane": shown["lane"].tolist(),
                "label": shown["label"].tolist(),
                "start_ns": _nanoseconds(shown["start_s"]),
                "took_ns": _nanoseconds(shown["end_s"] - shown["start_s"]),
                "ended": shown["ended"].tolist(),
                "name": shown["name"].astype("U32").tolist(),
                "wait_ns": _nanoseconds(shown["wait_s"]),
            },
            "cells": {key: column.tolist() for key, column in cells.items()},
        }


def span_of(query: Mapping[str, str], whole: tuple[float, float]) -> tuple[float, float]:
    """Return from when to when is asked for, in seconds; by default the whole."""
    first_s, last_s = float(query.get("from", whole[0])), float(query.get("to", whole[1]))
    if not 0 < last_s - first_s < float("inf"):
        raise ValueError(f"a timeline goes from one moment to a later one, not {query}")
    return first_s, last_s


_OF_CELLS = ("start_s", "end_s", "lane", "label")


def _cells(thin: Attempts, first_s: float, pixel_s: float, width: int) -> Attempts:
    """Sum attempts up by lane and pixel."""
    pixels = ((thin["start_s"] - first_s) / pixel_s).clip(0, width - 1).astype(np.int64)
    keys = thin["lane"].astype(np.int64) * width + pixels
    busy = np.bincount(keys, (thin["end_s"] - thin["start_s"]) / pixel_s)
    labels = 1 + int(thin["label"].max(initial=0))
    # Those of a cell after one another, the label of most at the end.
    pairs, counts = np.unique(keys * labels + thin["label"], return_counts=True)
    cells = pairs // labels
    order = np.lexsort((counts, cells))
    last = order[np.flatnonzero(np.diff(cells, append=-1))]
    found = cells[last]
    return {
        "lane": found // width,
        "pixel": found % width,
        "percent": (100 * busy[found]).clip(1, 100).astype(np.int64),
        "label": pairs[last] % labels,
    }


class _Numbers:
    """Texts that recur, by number."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self.texts = list(texts)
        self._numbers = {text: number for number, text in enumerate(texts)}

    def of(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


def _nanoseconds(seconds: npt.NDArray[Any]) -> list[int]:
    found: list[int] = (seconds * 1e9).round().astype(np.int64).tolist()
    return found


def _text(column: Column, row: int) -> str:
    first, last = np.frombuffer(column[1] or b"", np.int32, 2, offset=4 * row).tolist()
    return column[2][first:last].decode()
