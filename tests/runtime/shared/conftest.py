"""A cluster whose state programs and tasks share, as each kind of program has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[fs.Cluster]:
    """One worker with two executors, that others find as ``lab``."""
    with fs.Cluster(executors=2, memory="64MiB", disk="64MiB", folder=str(folder)) as cluster:
        cluster.share("lab")
        yield cluster


@pytest.fixture(scope="module", params=["embedded", "connected"])
def cluster(
    request: pytest.FixtureRequest, served: fs.Cluster, folder: Path
) -> Iterator[fs.Cluster]:
    """The same cluster, as the program has it that opened it, and as another one does."""
    if request.param == "embedded":
        yield served
        return
    with fs.connect("lab", folder=str(folder)) as connected:
        yield connected
