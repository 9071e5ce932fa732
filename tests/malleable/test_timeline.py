"""Resizes as Perfetto shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freestone.malleable import Resized, timeline


def test_the_parts_of_a_resize_follow_one_another(tmp_path: Path) -> None:
    path = tmp_path / "resizes.json"
    times = {"began_s": 10.0, "spawn_s": 2.0, "data_s": 1.5, "switch_s": 0.5, "total_s": 4.0}
    done = Resized(3, 2, 4, "merge-p2p-sync", moved_nbytes=800, **times)
    failed = Resized(9, 4, 8, "merge-p2p-sync", "no licence", began_s=20.0, total_s=1.0)
    refused = Resized(12, 4, 99, "merge-p2p-sync", "there are 8 slots", began_s=30.0)
    timeline.try_write(path, [done, failed, refused])
    events = json.loads(path.read_text())["traceEvents"]
    spans = {one["name"]: (one["ts"] / 1e6, one["dur"] / 1e6) for one in events if one["ph"] == "X"}
    assert spans == {
        "2 to 4 processes": (10.0, 4.0),
        "spawned": (10.0, 2.0),
        "moved": (12.5, 1.0),
        "switched": (13.5, 0.5),
        "4 to 8 processes, failed": (20.0, 1.0),
        "4 to 99 processes, failed": (30.0, 0.0),
    }
    counts = [(one["ts"] / 1e6, one["args"]["processes"]) for one in events if one["ph"] == "C"]
    assert counts == [(10, 2), (14, 4), (20, 4), (21, 4), (30, 4), (30, 4)]


def test_a_timeline_that_cannot_be_written_is_reported_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    timeline.try_write(tmp_path / "file" / "resizes.json", [])
    assert "the timeline of resizes could not be written to" in caplog.text
