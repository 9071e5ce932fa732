"""What Parsl's own tests of executors do not ask of ours."""

from __future__ import annotations

import os
from typing import Any

import parsl
import pytest
from parsl.executors.errors import InvalidResourceSpecification

import freestone as fs
from freestone.compat.parsl import FreestoneExecutor
from freestone.errors import UsageError


@parsl.python_app
def process(**_: Any) -> int:
    return os.getpid()


@parsl.python_app
def add(x: int, y: int, pure: int = 0) -> int:
    return x + y + pure


def test_apps_run_on_the_cluster() -> None:
    assert process().result() != os.getpid()
    # Futures are arguments, and a keyword that is an option of submit is the app's.
    assert add(add(1, 2), 3, pure=4).result() == 10


def test_what_an_app_asks_for_is_what_its_call_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = fs.current()
    assert cluster is not None
    asked: list[dict[str, Any]] = []
    submit = cluster.client.submit

    def noted(function: Any, args: Any, kwargs: Any, options: Any) -> Any:
        asked.append(options)
        return submit(function, args, kwargs, options)

    monkeypatch.setattr(cluster.client, "submit", noted)
    wanted = {"cores": 1, "memory": 100, "disk": 50, "priority": 3}
    assert process(parsl_resource_specification=wanted).result() != os.getpid()
    resources = {"cores": 1, "memory": 100_000_000, "disk": 50_000_000}
    assert asked == [{"pure": False, "priority": 3, "resources": resources}]


def test_what_clusters_do_not_know_is_refused() -> None:
    unknown = process(parsl_resource_specification={"cpus": 1})
    with pytest.raises(InvalidResourceSpecification, match=r"'cpus'.*Freestone knows cores, gpus"):
        unknown.result()


def test_without_a_cluster_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.client.opened._open", {})
    executor = FreestoneExecutor()
    with pytest.raises(UsageError, match="no cluster is open"):
        executor.start()
    with pytest.raises(UsageError, match="Parsl has not started this executor"):
        executor.submit(abs, {}, 1)
