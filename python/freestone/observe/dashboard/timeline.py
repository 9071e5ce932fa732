"""What ran when: attempts and transfers of a run, thinned out to what a screen can show."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.observe import columns as arrow
from freestone.observe.columns import Column, Columns

__all__ = ["Timeline"]

# Half of them go when there are so many; a run of 10 ms calls on 8 executors takes ten minutes.
MAX_ATTEMPTS = 500_000
# So many rectangles a browser draws in a few milliseconds.
MAX_DRAWN = 4000
_RECENT_TRANSFERS = 200

_DTYPE = np.dtype(
    [
        ("start_s", "f8"),
        ("end_s", "f8"),
        ("wait_s", "f4"),
        ("lane", "i4"),
        ("label", "i4"),
        ("ended", "i2"),
        ("name", "S32"),
    ]
)


class Timeline:
    """Attempts at tasks, in lanes: those of one lane did not run at once.

    Parameters
    ----------
    origin_ns : int
        From when times are counted, on the clock of the records.
    """

    def __init__(self, origin_ns: int) -> None:
        self._origin_ns = origin_ns
        self._rows = np.empty(1024, _DTYPE)
        self._count = 0
        self._labels = _Numbers()
        self._endings = _Numbers(("done",))
        self._lanes: dict[str, list[tuple[float, int]]] = {}
        self._lane_workers: list[str] = []
        self._pairs: dict[tuple[str, str], list[int]] = {}
        self._transfers: deque[dict[str, Any]] = deque(maxlen=_RECENT_TRANSFERS)

    def add(self, rows: int, columns: Columns) -> None:
        """Add records as `Manager.take_columns` gives them."""
        if not rows:
            return
        kinds = np.array(arrow.texts(rows, columns["kind"]))
        tasks = np.flatnonzero(kinds == "task")
        if len(tasks):
            self._add_tasks(rows, columns, tasks)
        for row in np.flatnonzero(kinds == "transfer"):
            self._add_transfer(rows, columns, int(row))

    def _add_tasks(self, rows: int, columns: Columns, tasks: npt.NDArray[np.intp]) -> None:
        new = np.empty(len(tasks), _DTYPE)
        start_ns = arrow.numbers(rows, columns["start_ns"])[tasks]
        new["start_s"] = (start_ns - self._origin_ns) / 1e9
        new["end_s"] = new["start_s"] + arrow.numbers(rows, columns["duration_ns"])[tasks] / 1e9
        ready_ns = arrow.numbers(rows, columns["ready_ns"])[tasks]
        new["wait_s"] = np.maximum(0, start_ns - ready_ns) / 1e9
        texts = {
            key: arrow.texts(rows, columns[key]) for key in ("label", "ended", "name", "worker")
        }
        new["label"] = [self._labels.of(texts["label"][row]) for row in tasks]
        new["ended"] = [self._endings.of(texts["ended"][row]) for row in tasks]
        new["name"] = [texts["name"][row].encode() for row in tasks]
        spans = zip(new["start_s"].tolist(), new["end_s"].tolist(), strict=True)
        workers = (texts["worker"][row] for row in tasks)
        lanes = [self._lane(worker, *span) for worker, span in zip(workers, spans, strict=True)]
        new["lane"] = lanes
        self._append(new)

    def _append(self, new: npt.NDArray[Any]) -> None:
        if self._count + len(new) > MAX_ATTEMPTS:
            kept = self._rows[self._count // 2 : self._count]
            self._rows, self._count = kept.copy(), len(kept)
        needed = self._count + len(new)
        if needed > len(self._rows):
            grown = np.empty(max(needed, 2 * len(self._rows)), _DTYPE)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : needed] = new
        self._count = needed

    def _lane(self, worker: str, start_s: float, end_s: float) -> int:
        """Give an attempt the lane of its worker that came free last before it began."""
        lanes = self._lanes.setdefault(worker, [])
        free = [place for place, (free_s, _) in enumerate(lanes) if free_s <= start_s + 1e-6]
        if free:
            place = max(free, key=lambda place: lanes[place][0])
            lanes[place] = (end_s, lanes[place][1])
            return lanes[place][1]
        self._lane_workers.append(worker)
        lanes.append((end_s, len(self._lane_workers) - 1))
        return lanes[-1][1]

    def _add_transfer(self, rows: int, columns: Columns, row: int) -> None:
        texts = {key: _text(columns[key], row) for key in ("source", "target", "name")}
        numbers = {
            key: int(arrow.numbers(rows, columns[key])[row])
            for key in ("nbytes", "end_ns", "duration_ns")
        }
        sums = self._pairs.setdefault((texts["source"], texts["target"]), [0, 0, 0])
        for place, amount in enumerate((1, numbers["nbytes"], numbers["duration_ns"])):
            sums[place] += amount
        took_s = numbers["duration_ns"] / 1e9
        end_s = (numbers["end_ns"] - self._origin_ns) / 1e9
        about = {"nbytes": numbers["nbytes"], "end_s": end_s, "took_s": took_s}
        self._transfers.appendleft({**texts, **about})

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
        rows = self._rows[: self._count]
        first_s, last_s = float(rows["start_s"].min()), float(rows["end_s"].max())
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
            ``tasks`` has those that are drawn one by one: all if they are few, or those that are
            wider than a pixel. Of others, ``cells`` says for a lane and a pixel which share of it
            was busy, how many attempts began in it, and the label of most.
        """
        rows = self._rows[: self._count]
        there = rows[(rows["end_s"] >= first_s) & (rows["start_s"] <= last_s)]
        pixel_s = (last_s - first_s) / width
        drawn, thin = there, there[:0]
        if len(there) > MAX_DRAWN:
            is_wide = there["end_s"] - there["start_s"] >= pixel_s
            drawn, thin = there[is_wide], there[~is_wide]
            if len(drawn) > MAX_DRAWN:
                order = np.argsort(drawn["start_s"] - drawn["end_s"], kind="stable")
                thin = np.concatenate([thin, drawn[order[MAX_DRAWN:]]])
                drawn = drawn[order[:MAX_DRAWN]]
        return {
            "from_s": first_s,
            "to_s": last_s,
            "width": width,
            "count": len(there),
            "lanes": self._lane_workers,
            # Of a run that names each of its tasks, only the names that are drawn.
            "labels": {
                label: self._labels.texts[label]
                for label in np.unique(np.concatenate([drawn["label"], thin["label"]])).tolist()
            },
            "endings": self._endings.texts,
            "tasks": [
                (lane, label, round(start, 9), round(end - start, 9), ended, name.decode(), wait)
                for start, end, wait, lane, label, ended, name in drawn.tolist()
            ],
            "cells": _cells(thin, first_s, pixel_s, width),
        }


def _cells(
    thin: npt.NDArray[Any], first_s: float, pixel_s: float, width: int
) -> list[tuple[int, int, float, int, int]]:
    """Sum attempts that are thinner than a pixel up, by lane and pixel."""
    if not len(thin):
        return []
    pixels = np.clip(((thin["start_s"] - first_s) / pixel_s).astype(np.int64), 0, width - 1)
    keys = thin["lane"].astype(np.int64) * width + pixels
    labels = int(thin["label"].max()) + 1
    # Those of a cell and a label first, so that the label of most can be taken.
    pairs, counts = np.unique(keys * labels + thin["label"], return_counts=True)
    order = np.lexsort((counts, pairs // labels))
    cells, last = pairs[order] // labels, np.flatnonzero(np.diff(pairs[order] // labels, append=-1))
    found, at = np.unique(keys, return_inverse=True)
    busy = np.bincount(at, weights=(thin["end_s"] - thin["start_s"]) / pixel_s)
    numbers = np.bincount(at)
    most = (pairs[order] % labels)[last]
    assert np.array_equal(cells[last], found)
    return [
        (int(key // width), int(key % width), round(min(1.0, share), 3), int(number), int(label))
        for key, share, number, label in zip(found, busy, numbers, most, strict=True)
    ]


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


def _text(column: Column, row: int) -> str:
    first, last = np.frombuffer(column[1] or b"", np.int32, 2, offset=4 * row).tolist()
    return column[2][first:last].decode()
