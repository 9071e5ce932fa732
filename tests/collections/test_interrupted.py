"""Ctrl-C while a statement waits for its own calls: they are cancelled, and nothing else is."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.client import local, waiting
from freestone.client.future import Future
from freestone.client.local import LocalClient
from tests.waiting import until


def held(folder: Path, number: int) -> int:
    until((folder / "go").exists)
    return number


@pytest.mark.parametrize(
    "call",
    [
        lambda x: (x + 1).compute(),
        lambda x: np.sum(x).compute(),
        lambda x: np.mean(x * 2).compute(),
        lambda x: fs.Bag(x.blocks, [0, 2, 4], name="bag").fold(operator.add),
    ],
)
def test_what_it_has_submitted_is_cancelled(
    cluster: fs.Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Any], object],
) -> None:
    cancelled: list[Future] = []
    cancel = LocalClient.cancel

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def noted(client: LocalClient, futures: Iterable[Future]) -> None:
        cancelled.extend(futures)
        cancel(client, cancelled)

    x = fs.Array.from_numpy(np.arange(4.0), 2)
    x.max().compute()
    # The executors are busy, so that nothing ends meanwhile.
    others = cluster.map(functools.partial(held, tmp_path), range(2))
    monkeypatch.setattr(Future, "result", interrupt)
    monkeypatch.setattr(waiting, "_take", interrupt)
    monkeypatch.setattr(LocalClient, "cancel", noted)
    with pytest.raises(KeyboardInterrupt):
        call(x)
    monkeypatch.undo()
    assert cancelled
    assert all(until(future.cancelled) for future in cancelled)
    (tmp_path / "go").touch()
    assert cluster.gather(others) == [0, 1]


def test_so_is_what_a_map_has_submitted(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[list[Future]] = []

    def numbers() -> Iterator[int]:
        yield from range(20)
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "_BATCH", 8)
    monkeypatch.setattr(LocalClient, "cancel", lambda _, futures: cancelled.append(futures))
    assert cluster.gather(cluster.map(abs, range(-20, 0))) == list(range(20, 0, -1))
    with pytest.raises(KeyboardInterrupt):
        cluster.map(abs, numbers())
    assert [len(futures) for futures in cancelled] == [16]
