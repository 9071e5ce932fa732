"""Where the applications run: in this process, on one worker, on two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

import freestone as fs

PLACES = {
    "no cluster": None,
    "one worker": {"workers": 1, "executors": 2},
    "two workers": {"workers": 2, "executors": 1},
}


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[fs.Cluster | None]:
    settings = PLACES[request.param]
    opened = fs.Cluster(**settings, memory="256MiB", disk="1GiB") if settings else nullcontext()
    with opened as cluster:
        yield cluster
