"""The timeline of the live page, thinned out."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.observe.timeline import Columns, Timeline

WIDTH = 1000


def columns(records: list[dict[str, Any]]) -> Columns:
    """Return records as the manager gives them."""
    found: Columns = {}
    for field in sorted({field for record in records for field in record}):
        values = [record.get(field) for record in records]
        if any(isinstance(value, str) for value in values):
            texts = [str(value or "").encode() for value in values]
            offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
            found[field] = (b"", offsets.tobytes(), b"".join(texts))
        else:
            numbers = np.array([value or 0 for value in values], np.int64)
            found[field] = (b"", None, numbers.tobytes())
    return found


def task(start_s: float, took_s: float, label: str = "mass", worker: int = 0) -> dict[str, Any]:
    start_ns = int(start_s * 1e9)
    return {
        "kind": "task",
        "label": label,
        "name": "0" * 32,
        "worker": f"worker-{worker}",
        "ended": "done",
        "ready_ns": start_ns - 1000,
        "start_ns": start_ns,
        "duration_ns": int(took_s * 1e9),
    }


def load(records: list[dict[str, Any]]) -> Timeline:
    made = Timeline(0)
    made.add(len(records), columns(records))
    return made


def test_a_few_are_shown_one_by_one() -> None:
    found = load([task(1, 2, "mäss"), task(3.5, 1, "fit", worker=1)]).tasks(0, 5, WIDTH)
    assert found["labels"] == {0: "mäss", 1: "fit"}
    assert found["lanes"] == ["worker-0", "worker-1"]
    tasks = found["tasks"]
    assert (tasks["lane"], tasks["label"]) == ([0, 1], [0, 1])
    assert tasks["start_ns"] == [1_000_000_000, 3_500_000_000]
    assert tasks["took_ns"] == [2_000_000_000, 1_000_000_000]
    assert tasks["wait_ns"] == [1000, 1000]


def test_what_runs_at_once_has_lanes_of_its_own() -> None:
    # In the order in which they ended, as they are reported.
    spans = [(0, 1), (1, 1), (0, 3), (2, 1.5), (3, 1)]
    found = load([task(*span) for span in spans]).tasks(0, 5, WIDTH)
    lanes = found["tasks"]["lane"]
    assert len(found["lanes"]) == 2
    assert lanes[:4] == [0, 0, 1, 0]
    assert lanes[4] == 1


def test_of_many_only_what_can_be_seen_is_sent() -> None:
    count = 100_000
    made = load([task(n * 1e-3, 0.9e-3, "fit" if n % 10 else "mass") for n in range(count)])
    found = made.tasks(0, 100, WIDTH)
    assert found["count"] == count
    assert found["tasks"]["lane"] == []
    cells = found["cells"]
    assert cells["pixel"] == list(range(WIDTH))
    assert {found["labels"][label] for label in cells["label"]} == {"fit"}
    np.testing.assert_allclose(cells["percent"], 90, atol=2)
    near = made.tasks(50, 50.5, WIDTH)
    assert (len(near["cells"]["lane"]), len(near["tasks"]["lane"])) == (0, near["count"])
    assert 500 <= near["count"] <= 502


def test_long_ones_stay_among_short_ones() -> None:
    records = [task(n * 1e-3, 0.5e-3) for n in range(10_000)] + [task(0, 10, "long", worker=1)]
    found = load(records).tasks(0, 10, WIDTH)
    assert [found["labels"][one] for one in found["tasks"]["label"]] == ["long"]
    assert set(found["cells"]["lane"]) == {0}


def test_the_oldest_go_when_there_are_too_many() -> None:
    made = Timeline(0, limit=100)
    for n in range(0, 300, 30):
        records = [task(at, 0.5) for at in range(n, n + 30)]
        made.add(len(records), columns(records))
    first_s, last_s = made.span()
    found = made.tasks(first_s, last_s, WIDTH)
    assert found["count"] <= 100
    assert found["tasks"]["start_ns"][-1] == 299 * 10**9
    assert first_s > 150


def test_transfers_are_summed_up_by_pair() -> None:
    moved = {"kind": "transfer", "name": "f" * 32, "source": "worker-0", "target": "worker-1"}
    made = load(
        [{**moved, "nbytes": 5, "end_ns": 2 * 10**9, "duration_ns": 10**9}] * 3 + [task(0, 1)]
    )
    found = made.transfers(2)
    (pair,) = found["pairs"]
    assert (pair["count"], pair["nbytes"], pair["took_s"]) == (3, 15, 3.0)
    assert len(found["transfers"]) == 2


def test_nothing_so_far() -> None:
    made = load([])
    assert made.tasks(*made.span(), WIDTH)["count"] == 0
