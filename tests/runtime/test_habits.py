"""What people write who know other libraries works as there, or an error says what to write."""

from __future__ import annotations

import concurrent.futures
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ConfigurationError, habits


def add(x: int, y: int = 1) -> int:
    return x + y


def take(**options: object) -> list[str]:
    return sorted(options)


@pytest.mark.parametrize("name", habits.OF_MODULE)
def test_names_of_other_modules(name: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}; {habits.OF_MODULE[name]}")):
        getattr(fs, name)


def owners(cluster: Any) -> list[tuple[Any, Any]]:
    future = cluster.submit(add, 1)
    return [
        (cluster, habits.OF_CLUSTER),
        (future, habits.OF_FUTURE),
        (fs.task(add), habits.OF_TASK),
    ]


def test_attributes_and_methods_of_other_libraries(cluster: fs.Cluster) -> None:
    for owner, known in owners(cluster):
        for name, hint in known.items():
            with pytest.raises(AttributeError, match=re.escape(f"{name!r}; {hint}")):
                getattr(owner, name)
    for name in ("add", "update", "batches"):
        with pytest.raises(AttributeError, match=r"fs.wait\(pending"):
            getattr(fs.as_completed([cluster.submit(add, 1)]), name)
    with pytest.raises(AttributeError, match="a cluster has no attribute 'pubish'; did you mean"):
        cluster.pubish  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", habits.OF_SETTINGS)
def test_settings_of_other_libraries(name: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(habits.OF_SETTINGS[name])):
        fs.Cluster(**{name: 2})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", habits.OF_CALL)
def test_options_of_other_libraries(cluster: fs.Cluster, name: str) -> None:
    given: dict[str, Any] = {name: 2}
    for call in (
        lambda: cluster.submit(add, 1, **given),
        lambda: cluster.map(add, [1], **given),
        lambda: fs.task(**given)(add),
    ):
        with pytest.raises(TypeError, match=re.escape(habits.OF_CALL[name])):
            call()
    assert cluster.submit(take, **given).result() == [name]
    with pytest.raises(TypeError, match=re.escape(habits.OF_CALL[name])):
        cluster.submit(abs, 1, **given)


CALLS: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda c, f: c.as_completed([f], with_results=True), "ask each future"),
    (lambda c, f: fs.as_completed([f], timeout=3), "write timeout_s=3, in seconds"),
    (lambda c, f: c.wait([f], timeout=3), "write timeout_s=3, in seconds"),
    (lambda c, f: fs.wait([f], num_returns=1), "write return_when='FIRST_COMPLETED'"),
    (lambda c, f: c.gather([f], direct=True), "values come from where they are"),
    (lambda c, f: c.gather([f], asynchronous=True), "await the futures"),
    (lambda c, f: c.cancel([f], force=True), "ends calls that run, too"),
    (lambda c, f: c.scatter([1], broadcast=True), "when a call there needs it"),
    (lambda c, f: c.scatter(np.ones(3)), r"one of type ndarray; make it a block with put\(value\)"),
    (lambda c, f: c.scatter("text"), r"one of type str; make it a block with put\(value\)"),
    (lambda c, f: c.scatter(1), r"one of type int; make it a block with put\(value\)"),
    (lambda c, f: c.wait_for_workers(n_workers=1, workers=1), "write workers=1"),
    (lambda c, f: c.wait_for_workers(1, timeout=3), "write timeout_s=3"),
    (lambda c, f: c.get([f]), r"cluster.gather\(futures\)"),
    (lambda c, f: fs.Cluster("tcp://10.0.0.1:8786"), r"fs.connect\(name\)"),
    (lambda c, f: fs.Cluster(4), r"as in fs.Cluster\(workers=2\)"),
]


@pytest.mark.parametrize(("call", "hint"), CALLS)
def test_calls_of_other_libraries(
    cluster: fs.Cluster, call: Callable[[Any, Any], Any], hint: str
) -> None:
    with pytest.raises(TypeError, match=hint):
        call(cluster, cluster.submit(add, 1))


def test_futures_of_others_are_waited_for_by_others(cluster: fs.Cluster) -> None:
    with pytest.raises(AttributeError, match=r"futures of cluster.executor\(\)"):
        concurrent.futures.wait([cluster.submit(add, 1)])  # type: ignore[list-item]


def test_what_works_as_there(cluster: fs.Cluster) -> None:
    scattered = cluster.scatter({"a": 1, "b": 2})
    assert cluster.gather(scattered) == {"a": 1, "b": 2}
    assert cluster({"x": (add, 1)}, "x") == 2


def test_a_cluster_is_a_scheduler_of_dask(cluster: fs.Cluster) -> None:
    da = pytest.importorskip("dask.array")
    x = da.arange(10, chunks=5)
    assert x.sum().compute(scheduler=cluster) == 45
    assert x.persist(scheduler=cluster).sum().compute(scheduler=cluster) == 45


@pytest.mark.parametrize(
    ("keyword", "advice"),
    [
        ("retrys", "; did you mean 'retries'?"),
        ("enviroment", "; did you mean 'environment'?"),
        ("offste", "; did you mean 'offset'?"),
    ],
)
def test_a_misspelt_keyword_of_submit_has_a_suggestion(cluster, keyword, advice):
    def shifted(x, offset=0):
        return x + offset

    message = f"{keyword}= is no option of submit and no parameter of shifted{advice}"
    with pytest.raises(TypeError, match=re.escape(message)):
        cluster.submit(shifted, 1, **{keyword: 3})


def test_keywords_that_are_like_nothing_and_those_of_any_name_go_to_the_function(cluster):
    def every(**given):
        return given

    assert cluster.submit(every, retrys=3).result() == {"retrys": 3}
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'"):
        cluster.submit(lambda x: x, 1, zzz=3).result()


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        ("cancel", {"tags": "a"}, "cancel() has no argument tags='a'; did you mean 'tag'?"),
        ("queue", {"name": "q", "max_size": 3}, "did you mean 'maxsize'?"),
        ("lock", {"name": "l", "timeout": 2}, "timeout=2; write timeout_s=2, in seconds"),
        ("semaphore", {"name": "s", "count": 2}, "count=2; there are name, n, timeout_s"),
        ("wait", {"futures": (), "time": 2}, "did you mean 'timeout_s'?"),
    ],
)
def test_a_misspelt_keyword_of_another_call_has_a_suggestion(cluster, call, given, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        getattr(cluster, call)(**given)


class Plain:
    """A class that takes nothing."""


class Filled:
    def __init__(self, actor: int) -> None:
        self.actor = actor


class Made(NamedTuple):
    actor: int


def test_state_that_is_shared_is_not_used_as_elsewhere(cluster: fs.Cluster) -> None:
    queue, lock, variable = cluster.queue("habit"), cluster.lock("habit"), cluster.variable("habit")
    for owner, name, advice in (
        (lock, "acquire", "write with lock"),
        (lock, "release", "at the end of with"),
        (queue, "empty", r"queue.qsize\(\) == 0"),
        (queue, "get_nowait", "timeout_s=0"),
        (queue, "puts", "did you mean 'put'"),
        (variable, "value", r"variable.get\(\)"),
    ):
        with pytest.raises(AttributeError, match=advice):
            getattr(owner, name)
    for wait in (queue.get, variable.get):
        with pytest.raises(TypeError, match="write timeout_s=1, in seconds"):
            wait(timeout=1)


def test_classes_are_not_called_with_options_of_others(cluster: fs.Cluster) -> None:
    with pytest.raises(
        TypeError, match=r"no option of actor and no parameter of Plain; .*restarts="
    ):
        cluster.actor(Plain, max_restarts=2)
    for kind in (Plain, Filled, Made):
        with pytest.raises(TypeError, match="did you mean 'retries'"):
            cluster.submit(kind, retrys=1)
    assert cluster.submit(Filled, actor=2).result().actor == 2
    assert cluster.submit(Made, actor=2).result().actor == 2
    assert cluster.submit(dict, num=1).result() == {"num": 1}


def test_an_executor_takes_options_of_calls(cluster: fs.Cluster) -> None:
    with cluster.executor(retries=2) as pool:
        assert pool.submit(pow, 2, 3).result() == 8
    with pytest.raises(TypeError, match="max_workers=2; leave it out"):
        cluster.executor(max_workers=2)
