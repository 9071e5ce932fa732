"""One file written by many workers: in which order they encode and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.collections import spreading


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_workers_encode_before_they_write_what_they_can_keep(
    two_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    x = np.random.default_rng(4).normal(size=(900, 7))
    fs.write(x, tmp_path / "here.csv")
    array = fs.Array.from_numpy(x, 100).persist()
    submit, priorities = fs.Cluster._submit, set()

    def recorded(self: fs.Cluster, function: Any, *given: Any, **more: Any) -> Any:
        if function is spreading._place_there:
            priorities.add(given[2].get("priority", 0))
        return submit(self, function, *given, **more)

    monkeypatch.setattr(fs.Cluster, "_submit", recorded)
    monkeypatch.setattr(spreading, "KEPT_NBYTES", kept)
    fs.write(array, tmp_path / "there.csv")
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    assert priorities == {0 if kept else 1}
