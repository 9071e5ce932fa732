"""What people write by mistake: each error says what was given and what to write instead."""

from __future__ import annotations

import functools
import operator
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ConfigurationError, NotSerializableError, UsageError


def label(x: int, name: str = "none") -> tuple[int, str]:
    return x, name


async def wait_for(x: int, y: int) -> int:
    return x + y


async def count_to(x: int) -> AsyncIterator[int]:
    for k in range(x):
        yield k


@fs.task
def increment(x: int) -> int:
    return x + 1


@fs.task
def add(a: int, b: int) -> int:
    return a + b


@fs.task
def twice_incremented(x: int) -> int:
    return increment(increment(x))


class Detector:
    @fs.task
    def calibrate(self, x: int) -> int:
        return x

    @staticmethod
    @fs.task
    def scale(x: int) -> int:
        return 2 * x


OPERATORS: list[Callable[[Any], Any]] = [
    lambda f: f + 1,
    lambda f: 1 + f,
    lambda f: -f,
    lambda f: f < 1,
    lambda f: f[0],
    lambda f: list(f),
    lambda f: 1 in f,
    lambda f: len(f),
    lambda f: float(f),
    lambda f: f(),
    lambda f: f @ f,
]


@pytest.mark.parametrize("use", OPERATORS)
def test_a_future_is_no_value(cluster: fs.Cluster, use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"can't be used as a value .*\.result\(\)"):
        use(cluster.submit(label, 1))


@pytest.mark.parametrize(
    "use",
    [
        lambda f: f == "1",
        lambda f: 1 == f,  # noqa: SIM300
        lambda f: f != 1,
        lambda f: f in ["1"],
        lambda f: (f, 1) == ("1", 1),
        lambda f: np.arange(2) == f,
        lambda f: np.float64(1) != f,
    ],
)
def test_a_future_is_not_compared_with_a_value(
    cluster: fs.Cluster, use: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError, match=r"can't be compared with .*future\.result\(\) == 1"):
        use(cluster.submit(label, 1))


def test_futures_are_equal_as_objects(cluster: fs.Cluster) -> None:
    one, other = cluster.submit(label, 1), cluster.submit(label, 1)
    assert one == one
    assert one != other
    assert not one == None  # noqa: E711, SIM201
    assert one in [None, other, one]
    assert {one: 1, other: 2}[other] == 2
    assert [None, other, one].index(one) == 2
    assert (one, [other]) == (one, [other])
    assert one in {one, other}


def test_a_future_has_no_attributes_of_its_value(cluster: fs.Cluster) -> None:
    future = cluster.submit(label, 1)
    with pytest.raises(AttributeError, match=r"no attribute 'shape'.*\.result\(\)"):
        _ = future.shape
    with pytest.raises(AttributeError, match="did you mean 'result'"):
        _ = future.resul
    assert future
    assert future in {future}


def test_a_timeout_has_its_unit_in_its_name(cluster: fs.Cluster) -> None:
    future: Any = cluster.submit(label, 1)
    with pytest.raises(TypeError, match="timeout=3; write timeout_s=3, in seconds"):
        future.result(timeout=3)
    with pytest.raises(TypeError, match="timeout=3; write timeout_s=3, in seconds"):
        future.exception(timeout=3)


def test_what_is_submitted_can_be_called(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"\(1, 'none'\) \(tuple\), which can't be called"):
        cluster.submit(label(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"5 .int., which can't be called"):
        cluster.submit(5, env={"A": "1"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="count_to is an async function that yields"):
        cluster.submit(count_to, 1)
    with pytest.raises(
        TypeError, match=r"reduce\(\) takes a plain function, and wait_for is async"
    ):
        fs.reduce(wait_for, [1, 2])


def test_map_takes_iterables(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"argument 2 is 5 \(int\).*itertools.repeat"):
        cluster.map(operator.add, [1], 5)
    with pytest.raises(TypeError, match="at least one iterable"):
        cluster.map(label)
    with pytest.raises(TypeError, match=r"map over a Future \(argument 1\)"):
        cluster.map(label, cluster.submit(label, 1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no option 'base'.*functools.partial\(f, base=...\)"):
        cluster.map(int, ["7"], base=8)


def test_options_of_a_task_are_checked_where_it_is_decorated() -> None:
    with pytest.raises(TypeError, match="no option 'retires'; did you mean 'retries'"):
        fs.task(retires=2)(label)
    with pytest.raises(ValueError, match="keep is 'task', 'session', 'worker' or 'forever'"):
        fs.task(keep="always")(label)
    with pytest.raises(TypeError, match=r"retries='2' .str."):
        fs.task(retries="2")(label)
    with pytest.raises(TypeError, match=r"resources=\[2\] .list.: give a dict"):
        fs.task(resources=[2])(label)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option 'aritty'"):
        add.options(aritty=3)


def test_values_of_options_are_named_when_they_are_wrong(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"keep=True .bool."):
        cluster.submit(label, 1, keep=True)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"worker=\[1\] .list."):
        cluster.submit(label, 1, worker=[1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r'keep is .*"sesion"'):
        cluster.put(1, keep="sesion")
    with pytest.raises(ValueError, match="retries=-1: give a whole number from 0 to"):
        cluster.submit(label, 1, retries=-1)
    with pytest.raises(ValueError, match=r"timeout_s=-2 .int.: .* positive number of seconds"):
        cluster.submit(label, 1, timeout_s=-2)
    with pytest.raises(TypeError, match=r"name=1 .int.: give a text"):
        cluster.submit(pow, 2, 3, name=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("arity", [2.5, True, "3"])
def test_an_arity_is_a_whole_number(arity: Any) -> None:
    with pytest.raises(TypeError, match=r"arity=.*give a whole number"):
        fs.reduce(max, [1, 2], arity=arity)


@pytest.mark.parametrize(
    ("command", "error", "problem"),
    [
        ([], ValueError, r"command=\[\] names no program"),
        ([""], ValueError, "names no program"),
        (["echo", 2], TypeError, r"command=\['echo', 2\]: give a text"),
        (7, TypeError, "command=7: give a text"),
    ],
)
def test_a_command_of_no_words_is_refused(
    cluster: fs.Cluster, command: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        cluster.command(command)


def test_a_keyword_of_the_function_is_not_taken_for_an_option(cluster: fs.Cluster) -> None:
    for call in (
        lambda: cluster.submit(label, 1, name="muon"),
        lambda: cluster.map(label, [1], name="muon"),
    ):
        with pytest.raises(
            TypeError, match="name= is an option of submit and a parameter of label"
        ):
            call()
    assert cluster.submit(functools.partial(label, name="muon"), 1).result() == (1, "muon")
    assert cluster.submit(label, 1, "muon", name="shown").result() == (1, "muon")
    named = fs.task(name="shown")(label)
    assert named(1, name="muon").result() == (1, "muon")
    assert cluster.gather(named.map([1, 2], ["muon", "pion"])) == [(1, "muon"), (2, "pion")]
    assert len(cluster.gather(named.map([1]))) == 1


def test_a_task_maps_over_iterables_only(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match="argument 1 is 3"):
        increment.map(3)


def test_a_task_is_no_method(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"Detector.calibrate is a task in the class Detector"):
        Detector().calibrate(1)
    assert Detector().scale(4).result() == 8


def test_a_task_returns_the_result_of_a_future_not_the_future(cluster: fs.Cluster) -> None:
    with pytest.raises(NotSerializableError, match=r"'increment' .* a task returns its result\(\)"):
        twice_incremented(1).result()


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_a_task_that_is_submitted_runs(cluster: fs.Cluster, isolation: str) -> None:
    assert cluster.submit(increment, 1, isolation=isolation).result() == 2


def test_a_task_may_be_given_to_what_calls_it(cluster: fs.Cluster) -> None:
    assert fs.reduce(add, [1, 2, 3, 4]).result() == 10
    assert cluster.submit(functools.partial(add, 1), 2).result() == 3
    with cluster.executor() as executor:
        assert list(executor.map(increment, [1, 2])) == [2, 3]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("Client", r"fs\.Cluster\(\)"), ("submit", r"cluster\.submit\("), ("Arry", "'Array'")],
)
def test_names_that_people_look_for(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(fs, name)


def test_errors_can_be_had_from_the_package() -> None:
    assert fs.errors.UsageError is UsageError


@pytest.mark.parametrize(
    ("options", "kind", "problem"),
    [
        ({"resources": {"cores": -1}}, ValueError, r"resources=\{'cores': -1\}"),
        ({"resources": {"memory": 2**70}}, ValueError, r"resources=\{'memory': 11805"),
        ({"resources": 5}, TypeError, r"resources=5 .int.: give a dict, such as \{'cores': 2\}"),
        ({"resources": "cores=2"}, TypeError, "resources='cores=2' .str.: give a dict"),
        ({"env": {"FOO": 1}}, TypeError, r"env=\{'FOO': 1\}.*try \{'FOO': '1'\}"),
    ],
)
def test_a_wrong_amount_or_variable_is_named(
    cluster: fs.Cluster, options: dict[str, Any], kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind, match=problem):
        cluster.submit(abs, -1, **options)


def test_only_futures_are_waited_for_and_explained(cluster: fs.Cluster) -> None:
    one = cluster.submit(abs, -1)
    assert cluster.wait(one).done == {one}
    assert list(cluster.as_completed(one)) == [one]
    for ask in (cluster.wait, lambda given: list(cluster.as_completed(given))):
        with pytest.raises(TypeError, match=r"1 \(int\) is no future to wait for"):
            ask([one, 1])
    with pytest.raises(TypeError, match=r"1 \(int\) is no future to cancel; give a list"):
        cluster.cancel([1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"takes a future, not 4 \(int\)"):
        cluster.explain(4)


def test_a_cache_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cache='.*/file' can't be a folder.*keyword"):
        fs.Cluster(cache=str(tmp_path / "file"))
