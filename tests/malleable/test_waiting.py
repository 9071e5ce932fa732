"""Waits end in time, but for those on what others do between two steps."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import pytest

from freestone.errors import ResizeTimeoutError
from freestone.malleable import waiting
from freestone.malleable.config import Config
from freestone.malleable.resize import Resize
from freestone.malleable.spawning import Spawned


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Callable[[], bool]]:
    """Return what makes a thing that is done when so many seconds have passed, one a look."""
    now = 0.0
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now)
    monkeypatch.setattr(waiting.time, "sleep", lambda _: None)

    def done_at(second: float) -> Callable[[], bool]:
        def is_done() -> bool:
            nonlocal now
            now += 1.0
            return now >= second

        return is_done

    return done_at


def test_a_wait_has_an_end(looks: Callable[[float], Callable[[], bool]]) -> None:
    waiting.wait_until(looks(50), 60.0, "all")
    with pytest.raises(ResizeTimeoutError, match="all was not done after 60 s"):
        waiting.wait_until(looks(math.inf), 60.0, "all")


def test_a_wait_for_steps_has_none_and_is_logged(
    looks: Callable[[float], Callable[[], bool]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "freestone.malleable"):
        waiting.wait_for_steps(looks(250), 100.0, "rank 1")
    assert caplog.messages == [
        "waiting for rank 1, for 101 s by now",
        "waiting for rank 1, for 201 s by now",
    ]


def test_rows_are_late_when_they_were_looked_for_and_not_because_a_step_is_long() -> None:
    resize = object.__new__(Resize)
    resize._config = Config(timeout_s=5)
    resize._spawned, resize._stage, resize.transfer = Spawned([], 1.0), "moving", None
    resize._bridged, resize._looks = 0.0, 0
    for _ in range(99):
        resize.test()
    assert not resize.has_failed
    resize.test()
    assert resize.has_failed
    assert "rows were not moved after 5 s" in resize._spawned.error
