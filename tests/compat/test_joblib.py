from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.compat import conftest
from tests.compat.fake import FakeCluster, Gate

joblib = pytest.importorskip("joblib")

from freestone.compat.joblib import FreestoneBackend  # noqa: E402
from freestone.errors import UsageError  # noqa: E402


@pytest.fixture(autouse=True)
def _configured(fake: FakeCluster) -> Iterator[None]:
    with joblib.parallel_config("freestone", cluster=fake):
        yield


def describe(array: Any, scale: int) -> tuple[float, bool, str]:
    return float(array.sum()) * scale, bool(array.flags.writeable), type(array).__name__


def nested(n: int) -> tuple[str, list[int]]:
    inner = joblib.Parallel(n_jobs=2)
    results = inner(joblib.delayed(pow)(k, 2) for k in range(n))
    return type(inner._backend).__name__, results


def through_gate() -> None:
    conftest.GATES["gate"].wait()


def fail(k: int) -> int:
    if k == 3:
        raise LookupError("three")
    return k


def test_calls_run_on_the_cluster_in_order(fake: FakeCluster) -> None:
    results = joblib.Parallel()(joblib.delayed(pow)(k, 2) for k in range(50))
    assert results == [k**2 for k in range(50)]
    assert fake.calls


def test_functions_of_a_script_are_sent() -> None:
    offset = 3
    results = joblib.Parallel()(joblib.delayed(lambda x: x + offset)(k) for k in range(3))
    assert results == [3, 4, 5]


@pytest.mark.parametrize(
    ("asked", "given"), [(-1, 8), (None, 8), (-2, 7), (-20, 1), (3, 3), (99, 8)]
)
def test_as_many_jobs_as_executors(fake: FakeCluster, asked: int | None, given: int) -> None:
    fake.slots = 8
    stand_in: Any = fake
    assert FreestoneBackend(stand_in).effective_n_jobs(asked) == given
    with pytest.raises(ValueError, match="n_jobs == 0"):
        FreestoneBackend(stand_in).effective_n_jobs(0)
    assert joblib.effective_n_jobs(-1) == 8


def test_one_job_runs_here(fake: FakeCluster) -> None:
    assert joblib.Parallel(n_jobs=1)([joblib.delayed(pow)(2, 2)]) == [4]
    assert fake.calls == []


def test_a_large_array_is_put_once_however_deep(fake: FakeCluster) -> None:
    array = np.ones(100_000)
    small = np.ones(10)
    calls = [joblib.delayed(describe)(array, scale) for scale in range(4)]
    calls += [joblib.delayed(lambda box: describe(box["a"][0], 1))({"a": (array,)})]
    calls += [joblib.delayed(describe)(small, 1)]
    results = joblib.Parallel(batch_size=1)(calls)
    assert [result[0] for result in results] == [0.0, 1e5, 2e5, 3e5, 1e5, 10.0]
    assert [result[1] for result in results] == [False] * 5 + [True]
    assert len(fake.puts) == 1
    assert fake.puts[0] is array


def test_an_array_that_changed_is_put_again(fake: FakeCluster) -> None:
    array = np.ones(100_000)
    for scale in (1, 2):
        array[:] = scale
        ((total, _, _),) = joblib.Parallel()([joblib.delayed(describe)(array, 1)])
        assert total == scale * 1e5
    assert len(fake.puts) == 2


def test_parallel_inside_a_call_is_sequential() -> None:
    results = joblib.Parallel()(joblib.delayed(nested)(n) for n in (2, 3))
    assert results == [("SequentialBackend", [0, 1]), ("SequentialBackend", [0, 1, 4])]


def test_an_exception_ends_all_and_the_next_call_works(fake: FakeCluster) -> None:
    with pytest.raises(LookupError, match="three"):
        joblib.Parallel(batch_size=1)(joblib.delayed(fail)(k) for k in range(100))
    assert joblib.Parallel()(joblib.delayed(fail)(k) for k in range(3)) == [0, 1, 2]


def test_a_timeout_cancels_what_runs(fake: FakeCluster, gate: Gate) -> None:
    with pytest.raises((TimeoutError, multiprocessing.TimeoutError)):
        joblib.Parallel(timeout=0.01)([joblib.delayed(through_gate)(), joblib.delayed(pow)(1, 1)])


def test_results_come_as_they_are_done() -> None:
    parallel = joblib.Parallel(return_as="generator_unordered")
    results = parallel(joblib.delayed(pow)(k, 2) for k in range(10))
    assert sorted(results) == [k**2 for k in range(10)]


def test_threads_are_limited(fake: FakeCluster) -> None:
    pytest.importorskip("threadpoolctl")
    with joblib.parallel_config("freestone", inner_max_num_threads=1, cluster=fake):
        assert joblib.Parallel()(joblib.delayed(pow)(k, 1) for k in range(3)) == [0, 1, 2]


def test_scikit_learn_runs_on_it(fake: FakeCluster) -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV

    x, y = make_classification(400, 40, random_state=0)
    forest = RandomForestClassifier(8, random_state=0)
    search = GridSearchCV(forest, {"max_depth": [2, 3]}, cv=2, n_jobs=-1)
    search.fit(x, y)
    with joblib.parallel_config("sequential"):
        alone = GridSearchCV(forest, {"max_depth": [2, 3]}, cv=2).fit(x, y)
    assert search.best_score_ == alone.best_score_
    assert fake.calls
    assert len(fake.puts) == 1


def test_without_a_cluster_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.compat.joblib.current", lambda: None)
    with pytest.raises(UsageError, match=r"no cluster is open .*freestone\.Cluster"):
        joblib.parallel_config("freestone")


@pytest.mark.parametrize("order", ["before", "after"])
def test_an_open_cluster_offers_itself(order: str) -> None:
    imported = "import joblib\n"
    offered = "from freestone.compat import offer_joblib\noffer_joblib(); offer_joblib()\n"
    script = imported + offered if order == "before" else offered + imported
    script += "from joblib import parallel\nassert 'freestone' in parallel.BACKENDS"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_offer_does_not_import_joblib() -> None:
    script = "import sys\nfrom freestone.compat import offer_joblib\noffer_joblib()\n"
    subprocess.run(
        [sys.executable, "-c", f"{script}assert 'joblib' not in sys.modules"], check=True
    )
