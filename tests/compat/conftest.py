from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.fake import FakeCluster, Gate


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    made = FakeCluster()
    yield made
    made.close()


GATES: dict[str, Gate] = {}


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = GATES["gate"] = Gate()
    yield made
    made.opened.set()
    GATES.clear()
