"""Variables: values, defaults, updates, and what they outlive."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from freestone.client.variables import Variable
from tests.runtime.serving import Program
from tests.waiting import until


def test_all_have_the_value_that_was_set_last(cluster: fs.Cluster) -> None:
    def change(variable: Variable[object], value: object) -> object:
        former = variable.get()
        here = fs.current()
        assert here is not None
        here.variable("shared").set(value)
        return former

    variable = cluster.variable("shared")
    large = np.arange(100_000.0)
    variable.set(1)
    assert cluster.submit(change, variable, large, pure=False).result() == 1
    np.testing.assert_array_equal(variable.get(), large)
    former = cluster.submit(change, variable, "last", pure=False).result()
    np.testing.assert_array_equal(former, large)
    assert (variable.get(), variable.get()) == ("last", "last")
    variable.delete()


def test_a_variable_without_a_value_has_its_default_or_waits(cluster: fs.Cluster) -> None:
    variable = cluster.variable("waiting")
    with pytest.raises(errors.SharedTimeoutError, match="a value of the variable 'waiting'"):
        variable.get(timeout_s=0.0)
    assert cluster.variable("waiting", default=None).get() is None
    waiting = cluster.submit(variable.get, pure=False)
    variable.set(3)
    assert waiting.result() == 3
    variable.delete()
    variable.delete()
    assert cluster.variable("waiting", default=4).get() == 4


def test_no_update_is_lost(cluster: fs.Cluster) -> None:
    def add(k: int) -> int:
        here = fs.current()
        assert here is not None
        return here.variable("sum", default=0).update(lambda sum: sum + k)

    variable = cluster.variable("sum", default=0)
    calls = cluster.map(add, range(20), pure=False)
    threads = [
        threading.Thread(target=variable.update, args=(lambda sum: sum + 1000,)) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cluster.gather(calls)
    assert variable.get() == 5190
    variable.delete()


def test_a_future_is_its_value_or_its_error(cluster: fs.Cluster) -> None:
    variable = cluster.variable("future")
    variable.set(cluster.submit(np.ones, 100_000))
    assert variable.get().sum() == 100_000
    variable.set(cluster.submit(divmod, 1, 0))
    with pytest.raises(ZeroDivisionError):
        variable.get()
    variable.delete()


def test_a_future_that_takes_longer_is_not_waited_for(cluster: fs.Cluster) -> None:
    variable = cluster.variable("slow", default=0)
    gate = cluster.variable("gate")
    variable.set(cluster.submit(gate.get, pure=False))
    with pytest.raises(errors.SharedTimeoutError, match="the value of the variable 'slow'"):
        variable.get(timeout_s=0.0)
    gate.set(2048)
    assert variable.get() == 2048
    assert variable.get(timeout_s=0.0) == 2048
    variable.delete()
    gate.delete()


def test_a_default_is_not_changed(cluster: fs.Cluster) -> None:
    def add(seen: set[int]) -> set[int]:
        seen.add(1)
        return seen

    given: set[int] = set()
    variable = cluster.variable("seen", default=given)
    variable.get().add(3)
    assert variable.update(add) == {1}
    variable.delete()
    assert (variable.get(), given) == (set(), set())


def test_what_it_had_is_dropped_and_what_it_has_stays() -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:

        def blocks() -> int:
            return cluster.statistics().blocks

        variable = cluster.variable("large")
        for k in range(3):
            variable.set(np.full(100_000, k))
        assert until(lambda: blocks() == 1)
        assert variable.get()[0] == 2
        variable.delete()
        assert until(lambda: blocks() == 0)


def test_a_value_outlives_the_program_that_set_it(served: fs.Cluster, folder: Path) -> None:
    program = Program(SETTING, folder)
    assert program.read() == "set"
    clients = served.client.manager.clients
    program.kill()
    assert until(lambda: served.client.manager.clients < clients)
    np.testing.assert_array_equal(served.variable("left").get(), np.arange(50_000))
    assert served.variable("computed").get() == 1024
    served.variable("left").delete()
    served.variable("computed").delete()


SETTING = """
import freestone as fs, numpy as np, time
cluster = fs.connect("lab")
cluster.variable("left").set(np.arange(50_000))
cluster.variable("computed").set(cluster.submit(pow, 2, 10))
print("set", flush=True)
time.sleep(600)
"""


def test_a_value_outlives_any_worker() -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        variable = cluster.variable("kept")
        variable.set(np.arange(50_000))

        def copies() -> int:
            return sum(worker["blocks"] for worker in cluster.client.workers())

        assert until(lambda: copies() == 2)
        home = cluster.client.manager.home
        worker = next(one for one in cluster.client.workers() if one["worker"] == f"worker-{home}")
        os.kill(worker["pid"], signal.SIGKILL)
        assert cluster.submit(lambda: variable.get().sum(), pure=False).result() == 1249975000


def test_bad_use_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match="the name of a variable is text"):
        cluster.variable(b"x")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="give seconds"):
        cluster.variable("bad").get(timeout_s=True)
