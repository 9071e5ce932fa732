from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from freestone.observe.explain import Explanation
from freestone.observe.figures import Statistics, WorkerFigures

KINDS: tuple[Any, ...] = (Statistics, Explanation, WorkerFigures)
WORKER: dict[str, Any] = {
    "worker": "worker-0",
    "pid": 12,
    "resources": {"cores": 2},
    "slots": 2,
    "nbytes": 100,
    "status": {"running": 1},
}


def test_statistics_come_from_nested_mappings() -> None:
    figures = {"done": 3, "waiting": 1, "ready": 2, "assigned": 4, "workers": [WORKER, WORKER]}
    statistics = Statistics.from_dict(figures)
    assert statistics.workers[1].status.running == 1
    assert (statistics.pending, statistics.slots, statistics.nbytes) == (7, 4, 200)


def test_explanations_come_from_nested_mappings() -> None:
    attempt = {"worker": "worker-0", "ended": "done"}
    explanation = Explanation.from_dict(
        {"stage": "done", "attempts": [attempt], "replicas": ["worker-0"], "nbytes": 8}
    )
    assert explanation.attempts[0].worker == "worker-0"
    assert explanation.replicas == ("worker-0",)
    assert explanation.waits_for == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_that_is_not_known_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        kind.from_dict({"stage": "done", "worker": "w", "nonsense": 1})


def test_figures_go_through_asdict_and_back() -> None:
    statistics = Statistics(done=1, workers=(WorkerFigures.from_dict(WORKER),))
    assert Statistics.from_dict(dataclasses.asdict(statistics)) == statistics


def test_custom_resources_say_how_many_calls_have() -> None:
    given = {**WORKER, "resources": {"cores": 2, "licence": 3}, "free": {"cores": 1, "licence": 1}}
    assert "2 of 3 licence" in Statistics(workers=(WorkerFigures.from_dict(given),))._repr_html_()
