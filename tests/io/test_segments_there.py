"""Segments for workers: where they are is asked only if that makes a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.io import open_dataset
from freestone.io.stores.hdfs import HdfsLocation
from freestone.storage import reading
from tests.io.hdfs import Store, store
from tests.io.test_segments import URL, X

__all__ = ["store"]


def test_where_segments_are_is_asked_only_of_several_machines(
    store: Store, two_workers: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [X[at : at + 20] for at in range(0, len(X), 20)]
    fs.write(fs.Array(pieces, None, name="x"), URL.format("dbdf"))
    dataset = open_dataset(URL.format("dbdf"))
    asked: list[str] = []

    def hosts(location: HdfsLocation, *which: Any) -> list[str]:
        asked.append(location.name)
        return ["one"]

    monkeypatch.setattr(HdfsLocation, "hosts", hosts)
    offsets = np.array([0, 40, 80])
    assert reading._hosts(dataset, offsets) == []
    assert not asked
    found = two_workers.statistics()
    workers = [replace(one, host=one.worker) for one in found.workers]
    more = replace(found, workers=tuple(workers))
    monkeypatch.setattr(two_workers.client, "statistics", lambda: more)
    assert reading._hosts(dataset, offsets) == [["one"], ["one"]]
    assert {name[-1] for name in asked[:4]} == {"1", "2", "3", "4"}
