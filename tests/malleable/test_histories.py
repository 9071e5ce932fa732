"""What histories find; `tests.fuzz` runs them."""

from __future__ import annotations

from tests.malleable.histories import draw, replay


def test_a_step_that_is_lost_shows() -> None:
    history = next(h for h in map(draw, range(99)) if any(d.kind == "variable" for d in h.data))
    trace = [(history.loops.index(history.loops[-1]), index) for index in range(3)]
    assert repr(replay(history, trace)) != repr(replay(history, trace[:-1]))
